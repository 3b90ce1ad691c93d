package schedulerserver

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"sigs.k8s.io/yaml"
)

const (
	// emulatedVersion is the flag of kube-scheduler that says by which version of Kubernetes its features are set.
	emulatedVersion = "emulated-version"
	// patience is how long the API server is asked for its version. Kube-scheduler itself waits for it without end.
	patience = 30 * time.Second
)

// suitAPIServer gives the scheduler the features of an API server that is older: with those of its own version it would
// write fields that the server drops. The flag --emulated-version still decides. An API server that is too old for the
// scheduler is an error; one that does not answer is none.
func suitAPIServer(ctx context.Context, opts *options.Options, flags *pflag.FlagSet) error {
	connection, err := connect(opts)
	if err != nil {
		return nil //nolint:nilerr // Kube-scheduler reads the same, and says what is wrong with it.
	}
	server, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return nil //nolint:nilerr // As above.
	}
	var found *version.Version
	if err := wait.PollUntilContextTimeout(ctx, time.Second, patience, true, func(context.Context) (bool, error) {
		answer, err := server.ServerVersion()
		if err != nil {
			return apierrors.IsNotFound(err), nil // One that starts refuses at first, or is not there.
		}
		found, err = version.ParseGeneric(answer.GitVersion)
		return true, err
	}); err != nil || found == nil {
		return nil //nolint:nilerr // Kube-scheduler goes on waiting.
	}
	if err := checkAPI(server, found); err != nil {
		return err
	}
	own := opts.ComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent).BinaryVersion()
	if given := flags.Lookup(emulatedVersion); found.Minor() < own.Minor() && !given.Changed {
		return flags.Set(emulatedVersion, fmt.Sprintf("%d.%d", found.Major(), found.Minor()))
	}
	return nil
}

// connect reads where kube-scheduler will find the API server.
func connect(opts *options.Options) (*rest.Config, error) {
	kubeconfig := opts.Deprecated.Kubeconfig
	if kubeconfig == "" && opts.ConfigFile != "" {
		written, err := os.ReadFile(opts.ConfigFile)
		if err != nil {
			return nil, err
		}
		var configuration struct {
			ClientConnection struct{ Kubeconfig string }
		}
		if err := yaml.Unmarshal(written, &configuration); err != nil {
			return nil, err
		}
		kubeconfig = configuration.ClientConnection.Kubeconfig
	}
	if kubeconfig == "" && opts.Master == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags(opts.Master, kubeconfig)
}

// checkAPI returns an error if the API server lacks a version of an API without which kube-scheduler waits forever.
func checkAPI(server discovery.DiscoveryInterface, found *version.Version) error {
	needed := resourcev1.SchemeGroupVersion.String()
	if _, err := server.ServerResourcesForGroupVersion(needed); !apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("the API server (Kubernetes %s) does not serve %s, where the scheduler finds devices: it needs "+
		"Kubernetes 1.34 or later, without %s=false in the API server's --runtime-config", found, needed, needed)
}
