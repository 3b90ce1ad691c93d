package monitoring

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/e2e/examples"
	"packtree.dev/shared/apiservertest"
)

// The scheduler asks the API server which users may read its metrics. The rights that the chart gives to
// monitoring.readers have to suffice.
func TestReadersReadTheMetricsOfTheScheduler(t *testing.T) {
	directory, err := examples.Directory()
	require.NoError(t, err)
	root := filepath.Join(directory, "..", "..")
	server, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, server.Stop())
	})
	api := kubernetes.NewForConfigOrDie(server.Config)
	giveRight(t, api, root, "prometheus")
	credentials := kubeconfig(t, server.Environment)
	// With this flag it asks that API server; in a pod it asks the API server of its cluster.
	scheduler := startScheduler(t, root, credentials, "--kubeconfig="+credentials)
	for name, want := range map[string]int{"prometheus": http.StatusOK, "somebody": http.StatusForbidden} {
		token := tokenOf(t, api, name)
		if got := scheduler.statusFor(t, token); got != want {
			t.Errorf("%s: status %d, want %d", name, got, want)
		}
	}
	if got := scheduler.statusFor(t, ""); got != http.StatusForbidden && got != http.StatusUnauthorized {
		t.Errorf("nobody: status %d", got)
	}
}

// giveRight installs the chart's objects for a reader.
func giveRight(t *testing.T, api kubernetes.Interface, root, name string) {
	t.Helper()
	var made bytes.Buffer
	helm := exec.Command(filepath.Join(root, "bin", "tools", "helm"), "template", "release",
		filepath.Join(root, "charts", "kai-topology-plugin"),
		"--show-only", "templates/metricsreader.yaml", "--set",
		"monitoring.readers[0].name="+name+",monitoring.readers[0].namespace=default")
	helm.Stdout, helm.Stderr = &made, os.Stderr
	require.NoError(t, helm.Run())
	decoder := yaml.NewYAMLOrJSONDecoder(&made, 4096)
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	for _, object := range []any{&role, &binding} {
		require.NoError(t, decoder.Decode(object))
	}
	if _, err := api.RbacV1().ClusterRoles().Create(t.Context(), &role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(t.Context(), &binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// tokenOf makes a service account, and a token of it like that of a pod.
func tokenOf(t *testing.T, api kubernetes.Interface, name string) string {
	t.Helper()
	accounts := api.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return request.Status.Token
}

// statusFor is the status of an answer to the holder of the token, once the program serves.
func (p *program) statusFor(t *testing.T, token string) int {
	t.Helper()
	status := 0
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, http.NoBody)
			if err != nil {
				return false, err
			}
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			response, err := client.Do(request)
			if err != nil {
				return false, nil // It does not listen yet.
			}
			defer response.Body.Close()
			status = response.StatusCode
			return status != http.StatusInternalServerError, nil
		})
	if err != nil {
		t.Fatal(fmt.Errorf("asking for %s: %w; the last status was %d", p.metrics, err, status))
	}
	return status
}
