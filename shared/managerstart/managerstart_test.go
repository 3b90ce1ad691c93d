package managerstart

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"packtree.dev/shared/freeport"
	"packtree.dev/shared/servingcerts"
)

func settings(t *testing.T, args ...string) Settings {
	t.Helper()
	var s Settings
	flags := pflag.NewFlagSet("program", pflag.ContinueOnError)
	s.BindFlags(flags, "program")
	require.NoError(t, flags.Parse(args))
	return s
}

func TestRunRefusesWrongSettings(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte("clusters: 7\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown log level":     {[]string{"--log-level=loud"}, `log level "loud": must be debug, info or error`},
		"an unknown log format":    {[]string{"--log-format=xml"}, `log format "xml": must be json or text`},
		"a kubeconfig not there":   {[]string{"--kubeconfig=/nowhere"}, "reading kubeconfig"},
		"a kubeconfig that is not": {[]string{"--kubeconfig=" + kubeconfig}, "reading kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(context.Background(), Program{Name: "program", Scheme: runtime.NewScheme()},
				settings(t, c.args...))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// The libraries log requests and what is in them at higher levels than debug: controller-runtime's webhooks from 4 on,
// and client-go from 6 on.
func TestNoLevelLogsWhatIsRead(t *testing.T) {
	for level := range levels {
		logger, err := newLogger(settings(t, "--log-level="+level), t.Output())
		require.NoError(t, err)
		assert.False(t, logger.V(2).Enabled(), "--log-level=%s logs more than it should", level)
	}
}

func TestWebhookAddress(t *testing.T) {
	for name, c := range map[string]struct {
		address, host string
		port          int
		wrong         bool
	}{
		"all interfaces": {address: ":9443", port: 9443},
		"loopback":       {address: "127.0.0.1:9443", host: "127.0.0.1", port: 9443},
		"IPv6":           {address: "[::1]:9443", host: "::1", port: 9443},
		"no port":        {address: "127.0.0.1", wrong: true},
		"a name as port": {address: ":https", wrong: true},
		"too large":      {address: ":65536", wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			host, port, err := splitAddress(c.address)
			if (err != nil) != c.wrong || host != c.host || port != c.port {
				t.Errorf("splitAddress(%q) = %q, %d, %v", c.address, host, port, err)
			}
		})
	}
}

func TestWebhookServerIsLeftOutWhenOff(t *testing.T) {
	options, err := managerOptions(Program{Name: "program"}, settings(t, "--webhook-bind-address=0"),
		servingcerts.NewServed())
	require.NoError(t, err)
	assert.Nil(t, options.WebhookServer)
	assert.Equal(t, "program.packtree.dev", options.LeaderElectionID, "lease name")
}

func TestControllersThatCannotBeAddedEndTheProgram(t *testing.T) {
	wrong := errors.New("no such kind")
	assert.ErrorIs(t, runUntilControllers(t, func() error { return wrong }), wrong)
}

func TestMetricsSayWhichBuildRuns(t *testing.T) {
	enough := errors.New("enough seen")
	var names []string
	err := runUntilControllers(t, func() error {
		families, err := metrics.Registry.Gather()
		for _, family := range families {
			names = append(names, family.GetName())
		}
		return errors.Join(enough, err)
	})
	require.ErrorIs(t, err, enough)
	assert.Contains(t, names, "packtree_build_info")
}

func TestProbesSayNothingButTheNamesOfChecks(t *testing.T) {
	address, err := freeport.Address()
	require.NoError(t, err)
	enough := errors.New("enough seen")
	said := map[string]string{}
	err = run(t, func(_ context.Context, mgr manager.Manager) error {
		return mgr.Add(manager.RunnableFunc(func(context.Context) error {
			for _, path := range []string{"/healthz", "/readyz", "/healthz?verbose", "/readyz?verbose"} {
				answer, err := http.Get("http://" + address + path)
				if err != nil {
					return err
				}
				body, err := io.ReadAll(answer.Body)
				said[path] = string(body)
				if err := errors.Join(err, answer.Body.Close()); err != nil {
					return err
				}
			}
			return enough
		}))
	}, "--health-probe-bind-address="+address)
	require.ErrorIs(t, err, enough)
	assert.Equal(t, map[string]string{
		"/healthz": "ok", "/healthz?verbose": "[+]ping ok\nhealthz check passed\n",
		"/readyz": "ok", "/readyz?verbose": "[+]webhooks ok\nhealthz check passed\n",
	}, said)
}

// runUntilControllers runs a program until it adds its controllers.
func runUntilControllers(t *testing.T, add func() error) error {
	t.Helper()
	return run(t, func(context.Context, manager.Manager) error { return add() }, "--health-probe-bind-address=0")
}

// run runs a program that reaches no API server.
func run(t *testing.T, add func(context.Context, manager.Manager) error, args ...string) error {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"
	require.NoError(t, os.WriteFile(kubeconfig, []byte(content), 0o600))
	program := Program{Name: "program", Scheme: runtime.NewScheme(), AddControllers: add}
	return Run(context.Background(), program, settings(t, append([]string{
		"--kubeconfig=" + kubeconfig, "--metrics-bind-address=0", "--leader-elect=false"}, args...)...))
}

func TestLogLevelIsKept(t *testing.T) {
	var out bytes.Buffer
	logger, err := newLogger(settings(t, "--log-level=error", "--log-format=text"), &out)
	require.NoError(t, err)
	logger.Info("not shown")
	logger.Error(nil, "shown")
	if text := out.String(); strings.Contains(text, "not shown") || !strings.Contains(text, "shown") {
		t.Errorf("logged %q", text)
	}
}
