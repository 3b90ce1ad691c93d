package gang_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// registry is what the members should know, as plain maps.
type registry struct {
	shown   map[types.UID]*corev1.Pod
	assumed map[types.UID]bool
}

// pods are those of the gang as they are or are about to be.
func (r registry) pods(withAssumed bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for uid, pod := range r.shown {
		if withAssumed && r.assumed[uid] && gang.Pending(pod) && pod.Spec.SchedulerName == "" {
			pod = pod.DeepCopy()
			pod.Spec.NodeName = "assumed"
		}
		pods = append(pods, pod)
	}
	return pods
}

func TestMembersKnowWhatAssemblingTellsAnew(t *testing.T) {
	foreign := func(pod *corev1.Pod) { pod.Spec.SchedulerName = "other" }
	states := []func(*corev1.Pod){func(*corev1.Pod) {}, gated, bound, deleted, finished, foreign}
	ours := func(name string) bool { return name == "" }
	podGroup := &scheduling.PodGroup{}
	podGroup.Spec.SubGroups = []scheduling.SubGroup{
		{Name: "a", MinMember: ptr.To[int32](1)}, {Name: "b", MinMember: ptr.To[int32](2)},
		{Name: "c", MinMember: ptr.To[int32](1)},
	}
	podGroup.Spec.MinSubGroup = ptr.To[int32](2)
	tree, _ := gang.Read(podGroup, levels)
	rapid.Check(t, func(t *rapid.T) {
		members := gang.NewMembers()
		want := registry{map[types.UID]*corev1.Pod{}, map[types.UID]bool{}}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			uid := types.UID(fmt.Sprint("pod-", rapid.IntRange(0, 5).Draw(t, "pod")))
			known := want.shown[uid]
			switch event := rapid.IntRange(0, 5).Draw(t, "event"); {
			case event <= 2 || known == nil:
				pod := podIn(rapid.SampledFrom([]string{"a", "b", "c", "stray"}).Draw(t, "leaf"), string(uid),
					rapid.SampledFrom(states).Draw(t, "state"))
				pod.UID = uid
				members.Show(pod, ours)
				want.shown[uid] = pod
			case event == 3:
				members.Drop(uid)
				delete(want.shown, uid)
				delete(want.assumed, uid)
			case event == 4:
				members.Assume(known, ours)
				want.assumed[uid] = true
			case event == 5:
				members.Unassume(uid)
				delete(want.assumed, uid)
			}
			shown, hold := gang.AssembleFor(ours, podGroup, want.pods(false), levels)
			needs := members.Needs(tree, slices.Values(want.pods(false)))
			require.Empty(t, cmp.Diff(hold, members.Incomplete(needs)), "hold (-assembled +members)")
			begun := shown.Rank().Begun
			require.Equal(t, members.Begun(needs), begun, "begun: assembled %v, members %v", begun, !begun)
			assumed, _ := gang.AssembleFor(ours, podGroup, want.pods(true), levels)
			onNodes := assumed.Satisfied(gang.NoPending)
			require.Equal(t, members.OnNodes(needs), onNodes, "all minima on nodes: assembled %v, members %v", onNodes, !onNodes)
		}
	})
}
