package clustertopology_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/shared/apiservertest"
)

// start starts an API server for all tests that ask for one. Each has topologies of other names.
var start = sync.OnceValues(func() (*apiservertest.Cluster, error) {
	return apiservertest.Start(envtest.WebhookInstallOptions{})
})

var started bool

func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	started = true
	server, err := start()
	require.NoError(t, err)
	return server.Config
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started {
		if server, err := start(); err == nil {
			if err := server.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}
