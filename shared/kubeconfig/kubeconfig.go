// Package kubeconfig finds the API server for a program.
package kubeconfig

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load reads a kubeconfig file; without one, the file in $KUBECONFIG, then the user's default file, or else the service
// account of the pod. Context is the name of a context in the file; empty means its current one.
func Load(file, context string) (*rest.Config, error) {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = file
	chosen := &clientcmd.ConfigOverrides{CurrentContext: context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, chosen).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no API server: give --kubeconfig, set KUBECONFIG, or run inside a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	return config, nil
}
