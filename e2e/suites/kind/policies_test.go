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
		if component != "kai-topology-plugin" { // Its port of metrics answers probes too.
			flags = append(flags,
				"--set="+component+
					".networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring")
		}
	}
	return flags
}

// hears waits until a pod gets an answer by HTTP, or until it gets none. Any answer will do: an API server that is
// asked without TLS answers too.
func hears(namespace, pod string, address func(context.Context, *testing.T) request, answered bool) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		where := address(ctx, t)
		until(ctx, t, fmt.Sprintf("%s asks %v", pod, where), func(ctx context.Context) (bool, string, error) {
			said, err := sends(ctx, namespace, pod, 1, where)
			return strings.HasPrefix(said, "HTTP/") == answered, fmt.Sprintf("%q, %v", said, err), nil
		})
		return ctx
	}
}

// metricsOf is the address of the metrics of a program's first pod.
func metricsOf(component string) func(context.Context, *testing.T) request {
	return func(ctx context.Context, t *testing.T) request {
		t.Helper()
		address := answer(ctx, t, "-n", "packtree-system", "get", "pods",
			"--selector=app.kubernetes.io/name="+component,
			"--field-selector=status.phase=Running", "-o",
			"jsonpath={.items[?(@.metadata.name!='lookalike')].status.podIP}")
		return request{strings.Fields(address)[0], "8080", "GET", "/metrics", ""}
	}
}

func apiServer(ctx context.Context, t *testing.T) request {
	t.Helper()
	return request{answer(ctx, t, "-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"),
		"443", "GET", "/", ""}
}

func prometheus(ctx context.Context, t *testing.T) request {
	t.Helper()
	return request{answer(ctx, t, "-n", "monitoring", "get", "pod", "prometheus", "-o", "jsonpath={.status.podIP}"),
		"9090", "GET", "/-/ready", ""}
}
