package monitoring

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"packtree.dev/shared/freeport"
)

// program is a running program, with the address of its metrics.
type program struct {
	name, metrics, webhooks string
	log                     *bytes.Buffer
}

// client trusts every server: the programs have made their certificates themselves.
var client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	Timeout: time.Minute} //nolint:gosec // see above

// start starts a program of bin until the test ends.
func (p *program) start(t *testing.T, root, kubeconfig string, args ...string) {
	t.Helper()
	p.log = &bytes.Buffer{}
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", p.name), args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	command.Stdout, command.Stderr = p.log, p.log
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if err := command.Start(); err != nil {
		t.Fatalf("starting %s: %v (make build makes it)", p.name, err)
	}
	t.Cleanup(func() {
		stop()
		_ = command.Wait()
		if t.Failed() {
			lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
			t.Logf("the last lines of %s:\n%s", p.name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}

func (p *program) scrape(ctx context.Context) (families, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.metrics, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", p.metrics, response.Status, text)
	}
	return parse(string(text))
}

// review sends a review to a webhook, since its metrics of time begin with the first one. The answer does not matter.
func (p *program) review(ctx context.Context, path string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.webhooks+path, strings.NewReader("{}"))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	if response, err := client.Do(request); err == nil {
		response.Body.Close()
	}
}

// address is a free one of this machine.
func address(t *testing.T) string {
	t.Helper()
	free, err := freeport.Address()
	require.NoError(t, err)
	return free
}

func write(t *testing.T, file, content string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// certificates makes a folder with a certificate for webhooks.
func certificates(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	chain, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	require.NoError(t, err)
	write(t, filepath.Join(folder, "tls.crt"), string(chain))
	write(t, filepath.Join(folder, "tls.key"), string(key))
	return folder
}

func kubeconfig(t *testing.T, environment *envtest.Environment) string {
	t.Helper()
	user, err := environment.AddUser(envtest.User{Name: "tester", Groups: []string{"system:masters"}}, nil)
	require.NoError(t, err)
	content, err := user.KubeConfig()
	require.NoError(t, err)
	return write(t, filepath.Join(t.TempDir(), "kubeconfig"), string(content))
}

// startOperator starts dynamo-operator or podgrouper.
func startOperator(t *testing.T, root, kubeconfig, name string) *program {
	t.Helper()
	metrics, webhooks := address(t), address(t)
	started := &program{name: name, metrics: "http://" + metrics + "/metrics", webhooks: "https://" + webhooks}
	started.start(t, root, kubeconfig,
		"--metrics-bind-address="+metrics, "--webhook-bind-address="+webhooks, "--health-probe-bind-address=0",
		"--webhook-cert-mode=manual", "--webhook-cert-dir="+certificates(t), "--leader-election-namespace=default")
	return started
}

func startGroveOperator(t *testing.T, root, kubeconfig string) *program {
	t.Helper()
	metrics, webhooks := address(t), address(t)
	config := write(t, filepath.Join(t.TempDir(), "config.yaml"),
		fmt.Sprintf(`apiVersion: operator.config.grove.io/v1alpha1
kind: OperatorConfiguration
server:
  webhooks: {bindAddress: 127.0.0.1, port: %s, serverCertDir: %s, certProvisionMode: manual}
  metrics: {bindAddress: 127.0.0.1, port: %s}
  healthProbes: {bindAddress: 127.0.0.1, port: %s}
leaderElection: {enabled: true, resourceNamespace: default}
topologyAwareScheduling:
  enabled: true
  levels: [{domain: rack, key: example.com/rack}, {domain: host, key: kubernetes.io/hostname}]
`, port(webhooks), certificates(t), port(metrics), port(address(t))))
	started := &program{name: "grove-operator", metrics: "http://" + metrics + "/metrics",
		webhooks: "https://" + webhooks}
	started.start(t, root, kubeconfig, "--config="+config, "--kubeconfig="+kubeconfig)
	return started
}

func startScheduler(t *testing.T, root, kubeconfig string) *program {
	t.Helper()
	serving := address(t)
	config := write(t, filepath.Join(t.TempDir(), "config.yaml"), `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: `+strconv.Quote(kubeconfig)+`}
leaderElection: {leaderElect: true, resourceName: kai-topology-plugin, resourceNamespace: default}
profiles:
  - schedulerName: kai-scheduler
    plugins:
      multiPoint: {enabled: [{name: KAITopology}]}
      queueSort: {disabled: [{name: "*"}], enabled: [{name: KAITopology}]}
    pluginConfig: # Slots are counted of shapes that are named.
      - {name: KAITopology, args: {shapes: [{name: one, pods: 1, resources: {cpu: 1}}]}}
`)
	started := &program{name: "kai-topology-plugin", metrics: "https://" + serving + "/metrics"}
	started.start(t, root, kubeconfig, "--config="+config, "--bind-address=127.0.0.1", "--secure-port="+port(serving),
		"--cert-dir="+t.TempDir(), "--authorization-always-allow-paths=/metrics")
	return started
}

func port(address string) string {
	_, port, _ := strings.Cut(address, ":")
	return port
}
