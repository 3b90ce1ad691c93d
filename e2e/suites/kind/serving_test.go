package kind_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/engine"
)

// request is a request by HTTP/1.0.
type request struct{ host, port, method, path, body string }

// sends makes a pod send a request so many times, one after the other, and returns all answers. It gives up after two
// seconds without an answer. The pod pauses for a moment before it closes the connection, because a server may take a
// closed connection for a user that has given up.
func sends(ctx context.Context, namespace, pod string, times int, what request) (string, error) {
	const script = `i=0
while [ $i -lt $0 ]; do
	i=$((i+1))
	{ printf '%s %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "$3" "$4" "${#5}" "$5"; sleep 1; } | nc -w 2 "$1" "$2"
done`
	return kubectl(ctx, "-n", namespace, "exec", pod, "--", "sh", "-c", script, fmt.Sprint(times), what.host, what.port,
		what.method, what.path, what.body)
}

// allAnswer waits until so many pods of a deployment run, and each takes part in the answers to requests that a pod of
// another workload sends to the deployment's Service.
func allAnswer(deployment, sender string, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		body, err := json.Marshal(engine.Work{Prompt: "who are you?"})
		require.NoError(t, err)
		service := answer(ctx, t, "get", "service", deployment+"-frontend", "-o",
			"jsonpath={.spec.clusterIP} {.spec.ports[0].port}")
		host, port, _ := strings.Cut(service, " ")
		from := answer(ctx, t, "get", "pods", "--selector="+sender, "-o", "jsonpath={.items[0].metadata.name}")
		until(ctx, t, fmt.Sprintf("%d pods of %s have a part in answers", count, deployment),
			func(ctx context.Context) (bool, string, error) {
				running, err := kubectl(ctx, "get", "pods", "--selector=app.kubernetes.io/part-of="+deployment,
					"--field-selector=status.phase=Running",
					"-o", "jsonpath={.items[*].metadata.name}")
				if err != nil {
					return false, "", err
				}
				pods := strings.Fields(running)
				slices.Sort(pods)
				if len(pods) != count {
					return false, fmt.Sprintf("the pods are %v", pods), nil
				}
				// Each worker is asked in turn.
				said, err := sends(ctx, "default", from, 2*count, request{host, port, "POST", "/v1/completions",
					string(body)})
				hosts, wrong := passed(said)
				return err == nil && wrong == "" &&
					slices.Equal(hosts, pods), fmt.Sprintf("hosts %v of %v, %s, %v", hosts, pods, wrong, err), nil
			})
		return ctx
	}
}

// passed reads answers of the engine: the hosts on the way of any request, sorted, and what is wrong with one answer.
func passed(said string) (hosts []string, wrong string) {
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var work engine.Work
		if err := json.Unmarshal([]byte(line), &work); err != nil {
			return hosts, err.Error()
		}
		if passed := strings.Join(work.Components, " "); passed != "frontend prefill decode" {
			return hosts, "a request passed " + passed
		}
		hosts = append(hosts, work.Hosts...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), ""
}

// losesOne deletes the first selected pod, at once.
func losesOne(selector string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pod := answer(ctx, t, "get", "pods", "--selector="+selector, "-o", "jsonpath={.items[0].metadata.name}")
		answer(ctx, t, "delete", "pod", pod, "--grace-period=0", "--force")
		return ctx
	}
}
