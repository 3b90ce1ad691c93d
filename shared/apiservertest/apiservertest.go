// Package apiservertest gives a test a real kube-apiserver and etcd, with all our CRDs installed or none.
package apiservertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/shared/definitions"
)

// Cluster is a running API server. It has no controllers, no scheduler and no kubelets: whatever acts is the test's.
type Cluster struct {
	// Config reaches the API server as an administrator.
	Config *rest.Config
	// Environment allows more users, and says where webhooks are to listen.
	Environment *envtest.Environment

	stop func() error
}

// Start starts etcd and kube-apiserver. Webhooks may be the zero value; configurations given there are installed with
// their address pointed at Environment.WebhookInstallOptions. Stop ends both.
//
// The programs come from KUBEBUILDER_ASSETS or else from bin/tools of this repository, where `make tools` puts them.
func Start(webhooks envtest.WebhookInstallOptions) (*Cluster, error) { return StartWith(webhooks, nil) }

// StartWith is Start with flags of kube-apiserver, by their names without dashes.
func StartWith(webhooks envtest.WebhookInstallOptions, flags map[string]string) (*Cluster, error) {
	all, err := definitions.All()
	if err != nil {
		return nil, err
	}
	return start(&envtest.Environment{
		CRDInstallOptions:     envtest.CRDInstallOptions{CRDs: all},
		WebhookInstallOptions: webhooks,
	}, flags)
}

// StartEmpty is Start without CRDs, for a test that installs them itself.
func StartEmpty() (*Cluster, error) {
	return start(&envtest.Environment{}, nil)
}

// patience is how long the programs may take to start, to serve what is installed and to end, on a machine that does
// other things too.
const patience = 3 * time.Minute

// attempts is how often a start is tried: envtest gives the namespace default five seconds to appear, in which a busy
// machine may do something else.
const attempts = 3

func start(environment *envtest.Environment, flags map[string]string) (*Cluster, error) {
	assets, err := assetsDirectory()
	if err != nil {
		return nil, err
	}
	environment.BinaryAssetsDirectory = assets
	environment.ControlPlaneStartTimeout, environment.ControlPlaneStopTimeout = patience, patience
	environment.CRDInstallOptions.MaxTime, environment.WebhookInstallOptions.MaxTime = patience, patience
	for attempt := 1; ; attempt++ {
		started := *environment
		for name, value := range flags {
			started.ControlPlane.GetAPIServer().Configure().Set(name, value)
		}
		stop := sync.OnceValue(started.Stop)
		release := sync.OnceFunc(stopOnInterrupt(stop))
		config, err := started.Start()
		if err == nil {
			config.QPS, config.Burst = 1000, 1000
			return &Cluster{Config: config, Environment: &started, stop: func() error {
				defer release()
				return stop()
			}}, nil
		}
		release()
		if err = errors.Join(err, stop()); attempt == attempts {
			return nil, fmt.Errorf("starting API server: %w", err)
		}
	}
}

// Stop ends the API server and etcd and removes their data.
func (c *Cluster) Stop() error {
	return c.stop()
}

func assetsDirectory() (string, error) {
	if assets := os.Getenv("KUBEBUILDER_ASSETS"); assets != "" {
		return assets, nil
	}
	directory, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding bin/tools: %w", err)
	}
	for {
		assets := filepath.Join(directory, "bin", "tools")
		if _, err := os.Stat(filepath.Join(assets, "kube-apiserver")); err == nil {
			return assets, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", errors.New("no kube-apiserver: run `make tools` first, or set KUBEBUILDER_ASSETS")
		}
		directory = parent
	}
}
