package kind_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// policed switches the charts' NetworkPolicies on, with Prometheus alone as a reader of metrics.
func policed() []string {
	var flags []string
	for _, component := range components {
		flags = append(flags, "--set="+component+".networkPolicy.enabled=true")
		if component != "kai-topology-plugin" { // Whose port of metrics answers probes too.
			flags = append(flags, "--set="+component+".networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring")
		}
	}
	return flags
}

// hears waits until a pod gets an answer of HTTP from host, port and path, or until it gets none.
func hears(namespace, pod string, address func(context.Context, *testing.T) [3]string, answered bool) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		where := address(ctx, t)
		// Any answer will do: an API server that is asked without TLS answers too.
		const ask = `printf "GET $2 HTTP/1.0\r\n\r\n" | nc -w 2 "$0" "$1"`
		until(ctx, t, fmt.Sprintf("%s asks %v", pod, where), func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "-n", namespace, "exec", pod, "--", "sh", "-c", ask, where[0], where[1], where[2])
			return strings.HasPrefix(said, "HTTP/") == answered, fmt.Sprintf("%q, %v", said, err), nil
		})
		return ctx
	}
}

// metricsOf is where the first pod of a program has its metrics.
func metricsOf(component string) func(context.Context, *testing.T) [3]string {
	return func(ctx context.Context, t *testing.T) [3]string {
		t.Helper()
		address := answer(ctx, t, "-n", "packtree-system", "get", "pods", "--selector=app.kubernetes.io/name="+component,
			"--field-selector=status.phase=Running", "-o", "jsonpath={.items[?(@.metadata.name!='lookalike')].status.podIP}")
		return [3]string{strings.Fields(address)[0], "8080", "/metrics"}
	}
}

func apiServer(ctx context.Context, t *testing.T) [3]string {
	t.Helper()
	return [3]string{answer(ctx, t, "-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"), "443", "/"}
}

func prometheus(ctx context.Context, t *testing.T) [3]string {
	t.Helper()
	return [3]string{answer(ctx, t, "-n", "monitoring", "get", "pod", "prometheus", "-o", "jsonpath={.status.podIP}"), "9090", "/-/ready"}
}
