package solve_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// A node is not chosen by its name if it evicts the pods after a while, unless there is no other room.
func TestNodesThatEvictAreTakenLast(t *testing.T) {
	taint := corev1.Taint{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}
	tolerating := func(seconds *int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{
				{Key: taint.Key, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds},
			}
		}
	}
	for name, c := range map[string]struct {
		pods    []*corev1.Pod
		avoided bool
	}{
		"for some time": {members("", 2, tolerating(ptr.To[int64](30))), true},
		"for ever":      {members("", 2, tolerating(nil)), false},
		"with a pod of it there": {
			append(members("there-", 1, plain, on("r0-0"), tolerating(nil)), members("", 1, tolerating(ptr.To[int64](30)))...), true,
		},
		"where there is no other room": {members("", 4, tolerating(ptr.To[int64](30))), false},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := racksOf(2, 2)
			for _, node := range nodes[:2] {
				node.Spec.Taints = []corev1.Taint{taint}
			}
			_, answer := decide(t, nodes, leaf(int32(len(c.pods)), 0, fewRacks), c.pods)
			require.Equal(t, "Placed", answer.Verdict, answer.Message)
			var used []string
			for _, node := range answer.Nodes {
				used = append(used, node)
			}
			assert.NotEqual(t, c.avoided, slices.Contains(used, "r0-0"), "on %v", used)
			assert.NotEqual(t, c.avoided, slices.Contains(used, "r0-1"), "on %v", used)
		})
	}
}
