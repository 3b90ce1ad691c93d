package charts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/apiservertest"
)

const namespace = "packtree-system"

// installation is a chart on the API server.
type installation struct {
	client     client.Client
	kubeconfig string
	chart      string
	// notes are helm's output after the installation.
	notes string
}

// TestInstall installs each chart, by itself and without network.
func TestInstall(t *testing.T) {
	for chart, want := range charts {
		t.Run(chart, func(t *testing.T) {
			installed := install(t, chart)
			installed.deployments(t, want.deployments)
			installed.untilLeft(t, want.definitions...)
			installed.followsNotes(t)
			if chart == "packtree" { // Which has all objects of the others.
				installed.walks(t)
			}
		})
	}
}

// walks does with a release what a user does later.
func (i installation) walks(t *testing.T) {
	t.Helper()
	all := charts[i.chart].definitions
	i.upgrade(t)
	mustHelm(t, i.kubeconfig, "uninstall", i.chart, "--namespace", namespace)
	// Uninstalling must not delete the users' objects, which would be deleted with their CRDs.
	i.untilLeft(t, all...)
	mustHelm(t, i.kubeconfig, "install", i.chart, chartPath(t, i.chart), "--namespace", namespace)
	i.uninstallWithKinds(t, all)
}

func install(t *testing.T, chart string) installation {
	t.Helper()
	installed := emptyCluster(t)
	installed.chart = chart
	installed.notes = mustHelm(t, installed.kubeconfig, "install", chart, chartPath(t, chart), "--namespace", namespace)
	return installed
}

// emptyCluster is an API server with nothing but the namespace, which admits only pods of the restricted Pod Security
// Standard. All tests use the same one, one after the other, and each leaves it as it was.
func emptyCluster(t *testing.T) installation {
	t.Helper()
	cluster, err := server()
	require.NoError(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, cluster.Environment.KubeConfig, 0o600))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	reader, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	empty := installation{client: reader, kubeconfig: kubeconfig}
	empty.untilLeft(t)
	t.Cleanup(func() { empty.clear(t) })
	return empty
}

// server is the API server of all tests, started by the first that needs it.
var server = sync.OnceValues(func() (*apiservertest.Cluster, error) {
	cluster, err := apiservertest.StartEmpty()
	if err != nil {
		return nil, err
	}
	started = cluster
	writer, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		return nil, err
	}
	return cluster, writer.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
})

// started is the API server, if a test has needed one.
var started *apiservertest.Cluster

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// clear uninstalls everything that a test has left installed, with its kinds.
func (i installation) clear(t *testing.T) {
	t.Helper()
	releases := mustHelm(t, i.kubeconfig, "list", "--namespace", namespace, "--short", "--all")
	for release := range strings.FieldsSeq(releases) {
		mustHelm(t, i.kubeconfig, "uninstall", release, "--namespace", namespace)
	}
	// A topology that is still held after a failure would keep its kind, and every later test would wait for that.
	// Mostly there is none, and this says so.
	_, _ = kubectl(t, i.kubeconfig, releaseTopology...)
	// The context of the test has ended.
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, i.client.DeleteAllOf(ctx, &apiextensionsv1.CustomResourceDefinition{}))
	i.untilLeft(t)
}

// deployments checks names and service accounts of the Deployments. TestEveryPodIsRestricted looks at their pods.
func (i installation) deployments(t *testing.T, want []string) {
	t.Helper()
	var found appsv1.DeploymentList
	require.NoError(t, i.client.List(t.Context(), &found, client.InNamespace(namespace)))
	var names []string
	for _, deployment := range found.Items {
		names = append(names, deployment.Name)
		template := deployment.Spec.Template
		if template.Spec.ServiceAccountName != deployment.Name || template.Spec.Containers[0].Name != deployment.Name {
			t.Errorf("Deployment %s: service account %q and container %q must have its name", deployment.Name,
				template.Spec.ServiceAccountName, template.Spec.Containers[0].Name)
		}
		var account corev1.ServiceAccount
		if err := i.client.Get(t.Context(), client.ObjectKeyFromObject(&deployment), &account); err != nil {
			t.Errorf("service account of %s: %v", deployment.Name, err)
		}
	}
	assert.Empty(t, cmp.Diff(want, names), "Deployments (-want +got)")
}

// followsNotes runs each command in the notes.
func (i installation) followsNotes(t *testing.T) {
	t.Helper()
	run := 0
	for line := range strings.Lines(i.notes) {
		line, is := strings.CutPrefix(line, "  kubectl ")
		if !is {
			continue
		}
		run++
		out, err := kubectl(t, i.kubeconfig, strings.Fields(line)...)
		// Helm ends when the kinds are stored, and the API server serves them a moment later.
		for end := time.Now().Add(patience); err != nil && strings.Contains(out, "doesn't have a resource type") &&
			time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			out, err = kubectl(t, i.kubeconfig, strings.Fields(line)...)
		}
		if err != nil {
			t.Errorf("the notes say kubectl %s: %v: %s", line, err, out)
		}
	}
	if run < 2 || !strings.Contains(i.notes, "deployment") {
		t.Errorf("the notes say too little about what comes next:\n%s", i.notes)
	}
}

// upgrade checks that an upgrade leaves the certificates, and the authorities of webhooks, that the programs wrote.
func (i installation) upgrade(t *testing.T) {
	t.Helper()
	filled, authority := i.fillSecrets(t.Context(), t), i.authorize(t)
	// With changes of the configurations themselves, of the programs' inputs, and of the kinds.
	mustHelm(t, i.kubeconfig, "upgrade", i.chart, chartPath(t, i.chart), "--namespace", namespace, "--set",
		"grove-operator.config.authorizer.enabled=true,dynamo-operator.logLevel=debug,"+
			"dynamo-operator.webhook.annotations.a=b,podgrouper.replicas=2")
	i.isAuthorized(t, authority)
	for _, key := range filled {
		var secret corev1.Secret
		require.NoError(t, i.client.Get(t.Context(), key, &secret))
		if string(secret.Data["tls.crt"]) != "certificate" {
			t.Errorf("the upgrade emptied Secret %s", key)
		}
	}
}

// fillSecrets writes a certificate into each Secret of the chart, as the running programs do.
func (i installation) fillSecrets(ctx context.Context, t *testing.T) []client.ObjectKey {
	t.Helper()
	var secrets corev1.SecretList
	require.NoError(t, i.client.List(ctx, &secrets, client.InNamespace(namespace)))
	var filled []client.ObjectKey
	for _, secret := range secrets.Items {
		if secret.Type == "helm.sh/release.v1" {
			continue
		}
		secret.Data = map[string][]byte{"tls.crt": []byte("certificate")}
		require.NoError(t, i.client.Update(ctx, &secret))
		filled = append(filled, client.ObjectKeyFromObject(&secret))
	}
	return filled
}
