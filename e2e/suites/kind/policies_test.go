package kind_test

import (
	"context"
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

// hears waits until a pod gets an answer from an address, or until it gets none.
func hears(namespace, pod string, address func(context.Context, *testing.T) string, answered bool) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		url := address(ctx, t)
		until(ctx, t, pod+" asks "+url, func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "-n", namespace, "exec", pod, "--", "wget", "-T", "2", "-q", "-O", "-", url)
			if err != nil {
				said = err.Error()
			}
			// An API server asked without TLS says so, with this status.
			heard := err == nil || strings.Contains(said, "400 Bad Request")
			return heard == answered, said, nil
		})
		return ctx
	}
}

// metricsOf is where the first pod of a program has its metrics.
func metricsOf(component string) func(context.Context, *testing.T) string {
	return func(ctx context.Context, t *testing.T) string {
		t.Helper()
		address := answer(ctx, t, "-n", "packtree-system", "get", "pods", "--selector=app.kubernetes.io/name="+component,
			"--field-selector=status.phase=Running", "-o", "jsonpath={.items[?(@.metadata.name!='lookalike')].status.podIP}")
		return "http://" + strings.Fields(address)[0] + ":8080/metrics"
	}
}

func apiServer(ctx context.Context, t *testing.T) string {
	t.Helper()
	return "http://" + answer(ctx, t, "-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}") + ":443/"
}

func prometheus(ctx context.Context, t *testing.T) string {
	t.Helper()
	return "http://" + answer(ctx, t, "-n", "monitoring", "get", "pod", "prometheus", "-o", "jsonpath={.status.podIP}") + ":9090/-/ready"
}
