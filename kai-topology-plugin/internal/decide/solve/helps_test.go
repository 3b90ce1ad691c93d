package solve_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Where no pod of a gang fits on a node that another pod has left, the gang has no place without that pod either.
func TestAGangThatIsNotHelpedStillHasNoPlace(t *testing.T) {
	skipped := 0
	rapid.Check(t, func(rt *rapid.T) {
		nodes := racksOf(rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3).Draw(rt, "rooms")...)
		var standing, waiting []*corev1.Pod
		for _, node := range nodes {
			node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
			for i := range rapid.IntRange(0, 3).Draw(rt, "stand") {
				pod := members(fmt.Sprint(node.Name, "-", i), 1, asking(rapid.IntRange(1, 4).Draw(rt, "takes")), on(node.Name))
				standing = append(standing, pod...)
			}
		}
		for i, size := range rapid.SliceOfN(rapid.IntRange(1, 9), 1, 4).Draw(rt, "asks") {
			waiting = append(waiting, members("", 1, asking(size), func(pod *corev1.Pod) {
				pod.Name += fmt.Sprint("-", i)
				pod.UID += "-new"
			})...)
		}
		podGroup := leaf(int32(rapid.IntRange(1, len(waiting)).Draw(rt, "minimum")), int32(len(waiting)), oneRack)
		answer := beside(rt, nodes, podGroup, waiting, standing)
		if len(answer.Nodes) > 0 {
			return
		}
		for i, gone := range standing {
			rest := slices.Delete(slices.Clone(standing), i, i+1)
			if answer.Helps(free(nodes, rest, gone.Spec.NodeName)) {
				continue
			}
			skipped++
			require.Empty(rt, beside(rt, nodes, podGroup, waiting, rest).Nodes, "without %s the gang has a place", gone.Name)
		}
	})
	assert.NotZero(t, skipped, "every pod that leaves helps")
}

func asking(cpu int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewQuantity(int64(cpu), resource.DecimalSI)
	}
}

// beside decides a gang beside pods without one.
func beside(
	t *rapid.T, nodes []*corev1.Node, podGroup *scheduling.PodGroup, waiting, standing []*corev1.Pod,
) *solve.Answer {
	cluster, err := kubeframework.NewOffline(t.Context(), nodes, standing)
	require.NoError(t, err)
	snapshot, err := cluster.Nodes()
	require.NoError(t, err)
	answer, err := solve.Solve(t.Context(), solve.Request{
		Gang: assemble(t, podGroup, waiting), Topologies: map[string]*kai.Topology{"network": topology},
		View: clusterview.New(cluster), Nodes: snapshot,
	})
	require.NoError(t, err)
	return answer
}

// free is what pods leave of a node.
func free(nodes []*corev1.Node, standing []*corev1.Pod, name string) packing.Resources {
	at := slices.IndexFunc(nodes, func(node *corev1.Node) bool { return node.Name == name })
	on := slices.DeleteFunc(slices.Clone(standing), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != name })
	return kubeframework.Free(kubeframework.BareNode(nodes[at], on...))
}

// tester is a test, or one draw of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
}
