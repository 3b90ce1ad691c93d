package kind_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// drainedNode is one of two in its rack.
const drainedNode = clusterName + "-worker"

// deleteLeaders deletes the pods that hold the leases, and waits until others hold them.
func deleteLeaders(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	holders := func(ctx context.Context) ([]string, error) {
		said, err := kubectl(ctx, "-n", "packtree-system", "get", "leases", "-o",
			"jsonpath={.items[*].spec.holderIdentity}")
		var pods []string
		for _, identity := range strings.Fields(said) {
			pod, _, _ := strings.Cut(identity, "_")
			pods = append(pods, pod)
		}
		return pods, err
	}
	var before []string
	until(ctx, t, "each program has a leader", func(ctx context.Context) (bool, string, error) {
		var err error
		before, err = holders(ctx)
		return len(before) == len(components), fmt.Sprint(before), err
	})
	answer(ctx, t, append([]string{"-n", "packtree-system", "delete", "pod", "--ignore-not-found", "--wait=false"},
		before...)...)
	until(ctx, t, "others lead", func(ctx context.Context) (bool, string, error) {
		now, err := holders(ctx)
		same := slices.ContainsFunc(now, func(pod string) bool { return slices.Contains(before, pod) })
		return len(now) == len(before) && !same, fmt.Sprint(now), err
	})
	return ctx
}

// drain evicts all pods from a node, as kubectl does, which respects PodDisruptionBudgets.
func drain(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	answer(ctx, t, "drain", drainedNode, "--ignore-daemonsets", "--delete-emptydir-data", "--force", timeout)
	until(ctx, t, "no pod of a workload is left on "+drainedNode, func(ctx context.Context) (bool, string, error) {
		said, err := kubectl(ctx, "get", "pods", "--field-selector=spec.nodeName="+drainedNode, "-o", "name")
		return strings.TrimSpace(said) == "", said, err
	})
	return ctx
}

// stopNodeOf stops the node of the first selected pod, like a power failure, and taints it as out of service.
func stopNodeOf(selector string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		node := answer(ctx, t, "get", "pods", "--selector="+selector, "-o", "jsonpath={.items[0].spec.nodeName}")
		onNode(ctx, t, "kill", node)
		answer(ctx, t, "wait", "node", node, "--for=condition=Ready=Unknown", timeout)
		answer(ctx, t, "taint", "node", node, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
		until(ctx, t, "no pod of a workload is left on "+node, func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "pods", "--field-selector=spec.nodeName="+node, "-o", "name")
			return strings.TrimSpace(said) == "", said, err
		})
		return ctx
	}
}

// nodesComeBack starts the stopped nodes.
func nodesComeBack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	tainted := answer(ctx, t, "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.spec.taints[*].key}{"\n"}{end}`)
	for line := range strings.Lines(tainted) {
		node, taints, _ := strings.Cut(line, " ")
		if !strings.Contains(taints, "node.kubernetes.io/out-of-service") {
			continue
		}
		onNode(ctx, t, "start", node)
		answer(ctx, t, "wait", "node", node, "--for=condition=Ready", timeout)
		answer(ctx, t, "taint", "node", node, "node.kubernetes.io/out-of-service-")
	}
	return ctx
}

// onNode is a command of Docker on the container of a node.
func onNode(ctx context.Context, t *testing.T, verb, node string) {
	t.Helper()
	if output, err := exec.CommandContext(ctx, "docker", verb, node).CombinedOutput(); err != nil {
		t.Fatalf("docker %s %s: %v\n%s", verb, node, err, output)
	}
}
