package turns_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
)

func TestGangsAreDecidedUnderAChange(t *testing.T) {
	cluster := topology + nodes(4, "r1-a", "r1-b", "r2-a") +
		podGroup("base", annotated(follows), "minMember: 2, "+oneRack, "") + pods("base", "", 4, "", "r1-a", "r1-b") +
		podGroup("ask", annotated(follows), "minMember: 1, "+oneRack, "") + pods("ask", "", 4, "", "") +
		podGroup("free", "", "minMember: 1", "") + pods("free", "", 4, "", "")
	for name, test := range map[string]struct {
		changes func(pod func(string) *corev1.Pod) []turns.Change
		want    map[string]string
	}{
		"as it is": {
			func(func(string) *corev1.Pod) []turns.Change { return []turns.Change{{}} },
			map[string]string{"ask": "Infeasible", "free": "Placed free-0:r2-a"},
		},
		"a pod is gone, and the room is where the gang may go": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{Gone: []*corev1.Pod{pod("base-1")}}}
			},
			map[string]string{"ask": "Placed ask-0:r1-b"},
		},
		"all that it was to be near are gone": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{
					Gone:     []*corev1.Pod{pod("base-0"), pod("base-1")},
					Reserved: clusterview.Reserved{"r1-a": {pod("free-0")}, "r1-b": {another(pod("free-0"), "")}},
				}}
			},
			map[string]string{"ask": "Placed ask-0:r2-a"},
		},
		"of a failed node nobody gets the room": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{Gone: []*corev1.Pod{pod("base-1")}, Failed: []string{"r1-b"}}}
			},
			map[string]string{"ask": "Infeasible", "free": "Placed free-0:r2-a"},
		},
		"room is reserved for somebody": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{Reserved: clusterview.Reserved{"r2-a": {pod("ask-0")}}}}
			},
			map[string]string{"free": "Infeasible"},
		},
		"a pod stands elsewhere, and others go near it": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{
					Gone:  []*corev1.Pod{pod("base-0"), pod("base-1")},
					Stand: []*corev1.Pod{small(another(pod("base-1"), "r2-a"))},
				}}
			},
			map[string]string{"ask": "Placed ask-0:r2-a"},
		},
		"a pod stands beside room, and others go near it": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{
					Gone:  []*corev1.Pod{pod("base-0"), pod("base-1")},
					Stand: []*corev1.Pod{small(another(pod("base-1"), "r1-a"))},
				}}
			},
			map[string]string{"ask": "Placed ask-0:r1-a"},
		},
		"a pod without a gang stands": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				lone := another(pod("free-0"), "r2-a")
				lone.Annotations = nil
				return []turns.Change{{Stand: []*corev1.Pod{lone}}}
			},
			map[string]string{"free": "Infeasible"},
		},
		"a node is larger, and one of another rack is added": {
			func(func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{{Nodes: []*corev1.Node{nodeOf(t, 8, "r1-a"), nodeOf(t, 4, "r3-a")}}}
			},
			map[string]string{"ask": "Placed ask-0:r1-a", "free": "Placed free-0:r1-a"},
		},
		"a node is added after another": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{
					{Reserved: clusterview.Reserved{"r2-a": {pod("ask-0")}}, Nodes: []*corev1.Node{nodeOf(t, 4, "r3-a")}},
					{Failed: []string{"r3-a"}, Nodes: []*corev1.Node{nodeOf(t, 4, "r4-a")}},
				}
			},
			map[string]string{"ask": "Infeasible", "free": "Placed free-0:r4-a"},
		},
		"a change after another": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				return []turns.Change{
					{Failed: []string{"r1-b"}, Reserved: clusterview.Reserved{"r2-a": {pod("ask-0")}}},
					{Failed: []string{"r1-a"}, Gone: []*corev1.Pod{pod("base-0"), pod("base-1")}},
				}
			},
			map[string]string{"free": "Infeasible"},
		},
		"two changes reserve room on nodes": {
			func(pod func(string) *corev1.Pod) []turns.Change {
				light := small(another(pod("ask-0"), ""))
				return []turns.Change{
					{Reserved: clusterview.Reserved{"r2-a": {pod("ask-0")}}},
					{Reserved: clusterview.Reserved{"r2-a": {light}, "r1-a": {light}}},
				}
			},
			map[string]string{"free": "Infeasible"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := set(t, cluster)
			named := func(name string) *corev1.Pod { return podOf(t, table, name) }
			under(t, table, test.changes(named), func(changed *turns.Table) {
				for name, want := range test.want {
					assert.Equal(t, want, decided(t, changed, turnOf(t, table, name)), "gang %s", name)
				}
			})
			for name, want := range map[string]string{"ask": "Infeasible", "free": "Placed free-0:r2-a"} {
				assert.Equal(t, want, decided(t, table, turnOf(t, table, name)), "afterwards, gang %s", name)
			}
		})
	}
}

func nodeOf(t *testing.T, gpus int, name string) *corev1.Node {
	t.Helper()
	return testsupport.Inventory(t, nodes(gpus, name)).Nodes[0]
}

// another is like a pod, and on a node.
func another(pod *corev1.Pod, node string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.UID, pod.Spec.NodeName = "another", node
	return pod
}

// small is a pod that asks for nothing.
func small(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	return pod
}

func under(t *testing.T, table *turns.Table, changes []turns.Change, run func(*turns.Table)) {
	t.Helper()
	err := table.Under(changes[0], func(changed *turns.Table) error {
		if len(changes) > 1 {
			under(t, changed, changes[1:], run)
			return nil
		}
		run(changed)
		return nil
	})
	require.NoError(t, err)
}

func TestAnswersUnderAChangeSayLittle(t *testing.T) {
	table := set(t, topology+nodes(4, "r1-a")+podGroup("ask", "", "minMember: 1", "")+pods("ask", "", 5, "", ""))
	under(t, table, []turns.Change{{}}, func(changed *turns.Table) {
		answer, err := changed.Decide(t.Context(), turnOf(t, table, "ask"), 0)
		if err != nil || answer.Verdict != "Infeasible" || answer.Message != "" {
			t.Errorf("%s %q, %v", answer.Verdict, answer.Message, err)
		}
	})
}
