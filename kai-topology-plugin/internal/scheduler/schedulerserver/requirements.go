package schedulerserver

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
)

// checkAPI returns an error if the API server lacks a version of an API without which kube-scheduler waits forever.
// An API server that does not answer is no error: kube-scheduler waits for it.
func checkAPI(server discovery.DiscoveryInterface) error {
	needed := resourcev1.SchemeGroupVersion.String()
	if _, err := server.ServerResourcesForGroupVersion(needed); !apierrors.IsNotFound(err) {
		return nil
	}
	found := "unknown"
	if version, err := server.ServerVersion(); err == nil {
		found = version.GitVersion
	}
	return fmt.Errorf("the API server (Kubernetes %s) does not serve %s, where the scheduler finds devices: it needs "+
		"Kubernetes 1.34 or later, without %s=false in the API server's --runtime-config", found, needed, needed)
}
