package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/freeport"
	"packtree.dev/shared/render"

	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/webhook"
)

// asProgram makes the test binary the program itself, so that a test can kill it.
const asProgram = "TEST_RUNS_GROVE_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(render.Execute(rootCommand()))
	}
	code := m.Run()
	if err := stopServer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// stopServer ends the API server if a test started it.
var stopServer = func() error { return nil }

// startServer starts the API server of all tests.
var startServer = sync.OnceValues(func() (*apiservertest.Cluster, error) {
	server, err := apiservertest.Start(envtest.WebhookInstallOptions{})
	if err == nil {
		stopServer = server.Stop
	}
	return server, err
})

const (
	secretName = "grove-operator-webhook-cert"
	leaseName  = "grove-operator-leader-election"
	serverName = "grove-operator.default.svc"
)

// replica is a running program.
type replica struct {
	webhooks, metrics string
	process           *exec.Cmd
}

// cluster is the API server with the chart's objects about certificates, until the test ends. What else a test makes
// there has names of its own.
type cluster struct {
	client.Client
	kubeconfig, certDir string
	// certMode is how certificates are provided.
	certMode groveconfigv1alpha1.CertProvisionMode
}

func startCluster(t *testing.T, webhookPort int) *cluster {
	t.Helper()
	server, err := startServer()
	require.NoError(t, err)
	user, err := server.Environment.AddUser(envtest.User{Name: "grove-operator", Groups: []string{"system:masters"}},
		nil)
	require.NoError(t, err)
	kubeconfig, err := user.KubeConfig()
	require.NoError(t, err)
	made := &cluster{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), certDir: t.TempDir(),
		certMode: groveconfigv1alpha1.CertProvisionModeAuto}
	require.NoError(t, os.WriteFile(made.kubeconfig, kubeconfig, 0o600))
	if made.Client, err = client.New(server.Config, client.Options{Scheme: controller.Scheme()}); err != nil {
		t.Fatal(err)
	}
	install(t, made, int32(webhookPort))
	return made
}

// install creates the chart's objects: the empty Secret, a Service through which the API server finds the program,
// and the webhook configurations without a CA. When the test ends, it removes them and the Lease of the programs.
func install(t *testing.T, c *cluster, port int32) {
	t.Helper()
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	path := webhook.DefaultPodCliqueSetPath
	validate := webhook.ValidatePodCliqueSetPath
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{"grove.io"}, APIVersions: []string{"v1alpha1"},
			Resources: []string{"podcliquesets"}},
	}}
	at := func(path *string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
			Namespace: "default", Name: program, Path: path, Port: &port,
		}}
	}
	named := metav1.ObjectMeta{Name: program}
	inDefault := metav1.ObjectMeta{Name: program, Namespace: "default"}
	t.Cleanup(func() {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName, Namespace: "default"}}
		assert.NoError(t, client.IgnoreNotFound(c.Delete(context.Background(), lease)))
	})
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: "default"}},
		&corev1.Service{ObjectMeta: inDefault,
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: named,
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "default.podcliquesets.grove.io", ClientConfig: at(&path), Rules: rules, FailurePolicy: &fail,
				SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: named,
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "validate.podcliquesets.grove.io", ClientConfig: at(&validate), Rules: rules,
				FailurePolicy: &fail,
				SideEffects:   &none, AdmissionReviewVersions: []string{"v1"},
			}}},
	} {
		require.NoError(t, c.Create(t.Context(), object))
		t.Cleanup(func() {
			assert.NoError(t, c.Delete(context.Background(), object))
		})
	}
	eventually(t, "the API server asks the webhooks", func() error {
		if c.Create(t.Context(), someSet(t, "nobody-serves"), client.DryRunAll) == nil {
			return errors.New("it admits a set without them")
		}
		return nil
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := freeport.Port()
	require.NoError(t, err)
	return port
}

// startReplica runs the program as a process of its own.
func startReplica(t *testing.T, c *cluster, webhookPort int) *replica {
	t.Helper()
	metrics, probes := freePort(t), freePort(t)
	config := configFile(t, fmt.Sprintf(`
leaderElection: {enabled: true, resourceNamespace: default, leaseDuration: 20s, renewDeadline: 15s, retryPeriod: 500ms}
server:
  webhooks: {bindAddress: 127.0.0.1, port: %d, serverCertDir: %q, secretName: %s, certProvisionMode: %s}
  metrics: {bindAddress: 127.0.0.1, port: %d}
  healthProbes: {bindAddress: 127.0.0.1, port: %d}
topologyAwareScheduling: {enabled: false}
`, webhookPort, c.certDir, secretName, c.certMode, metrics, probes))
	command := exec.Command(os.Args[0], "--config", config, "--kubeconfig", c.kubeconfig)
	command.Env = append(os.Environ(), asProgram+"=true")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the program on port %d said:\n%s", webhookPort, text)
		}
	})
	return &replica{webhooks: fmt.Sprintf("127.0.0.1:%d", webhookPort),
		metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", metrics), process: command}
}

// eventually waits until a check passes.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		require.False(t, time.Now().After(deadline), "waiting until %s: %v", what, err)
		time.Sleep(50 * time.Millisecond)
	}
}

// reconciles reports whether a replica has reconciled any PodCliqueSet.
func (r *replica) reconciles() (bool, error) {
	answer, err := http.Get(r.metrics)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `controller_runtime_reconcile_total{controller="podcliqueset"`) &&
			!strings.HasSuffix(strings.TrimSpace(line), " 0") {
			return true, err
		}
	}
	return false, err
}

func someSet(t *testing.T, name string) *grovev1alpha1.PodCliqueSet {
	t.Helper()
	return fixture.Raw(t, "metadata: {name: "+name+"}\nspec: {replicas: 1, template: {cliques: "+
		"[{name: a, spec: {replicas: 1, podSpec: {containers: [{name: main, image: x}]}}}]}}")
}

// accepted creates a set, which must pass the webhooks and be given a PodClique.
func (c *cluster) accepted(t *testing.T, name string) {
	t.Helper()
	set := someSet(t, name)
	eventually(t, "PodCliqueSet "+name+" is admitted", func() error { return c.Create(t.Context(), set.DeepCopy()) })
	eventually(t, "PodCliqueSet "+name+" has its PodClique", func() error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name + "-0-a"},
			&grovev1alpha1.PodClique{})
	})
}

func TestOfTwoReplicasOneLeadsAndBothServe(t *testing.T) {
	ports := []int{freePort(t), freePort(t)}
	c := startCluster(t, ports[1])
	go c.mount(t.Context())
	leader := startReplica(t, c, ports[0])
	holder := func() string {
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: leaseName}, lease); err != nil ||
			lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	eventually(t, "the first replica leads", func() error {
		if holder() == "" {
			return errors.New("nobody does")
		}
		return nil
	})
	before := holder()
	follower := startReplica(t, c, ports[1])
	for _, replica := range []*replica{leader, follower} {
		eventually(t, "both replicas serve", func() error {
			_, err := c.serves(t.Context(), replica.webhooks)
			return err
		})
	}
	c.accepted(t, "while-both-run") // The API server asks the follower.
	eventually(t, "the metrics of the leader tell that it reconciles", func() error {
		works, err := leader.reconciles()
		if err == nil && !works {
			err = errors.New("it does not")
		}
		return err
	})
	eventually(t, "the follower shows its metrics", func() error {
		works, err := follower.reconciles()
		assert.False(t, works, "the follower reconciles")
		return err
	})

	require.NoError(t, leader.process.Process.Kill())
	c.accepted(t, "after-the-leader")
	now := holder()
	assert.NotEqual(t, before, now)
	assert.NotEmpty(t, now)
}
