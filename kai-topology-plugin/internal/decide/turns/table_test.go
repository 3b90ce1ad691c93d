package turns_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

const (
	topology = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: l/rack}]}
`
	oneRack = `topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}`
	// follows is of gangs that stand in one rack with the gang base.
	follows = `packtree.dev/base-gang: base, packtree.dev/shared-topology: t, packtree.dev/shared-required-level: l/rack`
)

// nodes have the name of their rack in theirs: r1-a.
func nodes(gpus int, names ...string) string {
	var all strings.Builder
	for _, name := range names {
		rack, _, _ := strings.Cut(name, "-")
		fmt.Fprintf(&all, `---
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {l/rack: %[2]s, kubernetes.io/hostname: %[1]s}}
status: {allocatable: {nvidia.com/gpu: "%[3]d", pods: "9"}}
`, name, rack, gpus)
	}
	return all.String()
}

// podGroup is one that a cluster has, with more than its name in its metadata, and something in its status.
func podGroup(name, metadata, spec, status string) string {
	if !strings.Contains(metadata, "creationTimestamp") {
		metadata += `, creationTimestamp: "2026-01-01T00:00:00Z"`
	}
	return fmt.Sprintf("---\napiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\n"+
		"metadata: {name: %s, namespace: ns, %s}\nspec: {%s}\nstatus: {%s}\n",
		name, strings.TrimPrefix(metadata, ", "), spec, status)
}

func annotated(annotations string) string { return "annotations: {" + annotations + "}" }

// until is when seats end, which does not matter to a table.
const until = "2026-01-01T00:00:00Z"

// seat is one of a status: for a pod of some priority that asks for GPUs.
func seat(leaf string, gpus, priority int, nodes string) string {
	return fmt.Sprintf(`{subGroup: "%s", nodes: [%s], requests: {nvidia.com/gpu: "%d"}, priority: %d, until: "%s"}`,
		leaf, nodes, gpus, priority, until)
}

// pods and read are short: many tests are made of them.
var pods, read = testsupport.Pods, testsupport.Inventory

func set(t *testing.T, text string) *turns.Table {
	t.Helper()
	table, err := turns.Set(t.Context(), read(t, text))
	require.NoError(t, err)
	return table
}

// turnOf is that of a gang, by its name, as it would be now.
func turnOf(t *testing.T, table *turns.Table, name string) turns.Turn {
	t.Helper()
	all := turns.In(table.Inventory())
	at := slices.IndexFunc(all, func(turn turns.Turn) bool { return turn.Rank.Gang.Name == name })
	require.GreaterOrEqual(t, at, 0, "the test has no gang %s", name)
	return all[at]
}

// podOf is one of the cluster, by its name.
func podOf(t *testing.T, table *turns.Table, name string) *corev1.Pod {
	t.Helper()
	for _, pod := range table.Inventory().Pods {
		if pod.Name == name {
			return pod
		}
	}
	t.Fatalf("the test has no pod %s", name)
	return nil
}

// decided is the verdict for a gang and the nodes of its pods, by their names.
func decided(t *testing.T, table *turns.Table, turn turns.Turn) string {
	t.Helper()
	answer, err := table.Decide(t.Context(), turn, 0)
	require.NoError(t, err)
	return told(answer.Verdict, answer.Nodes)
}

func told(verdict string, nodes map[string]string) string {
	if len(nodes) == 0 {
		return verdict
	}
	return verdict + " " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(nodes), "map["), "]")
}

// keptNodes are the nodes with reserved room, each with the number of pods that it is for.
func keptNodes[M ~map[string][]*corev1.Pod](kept M) string {
	var all []string
	for node, pods := range kept {
		all = append(all, fmt.Sprintf("%s:%d", node, len(pods)))
	}
	slices.SortFunc(all, cmp.Compare)
	return strings.Join(all, " ")
}
