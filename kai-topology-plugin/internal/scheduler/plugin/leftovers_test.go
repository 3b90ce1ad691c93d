package plugin

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// subgrouped is a pod of a subgroup, on a node unless that is empty.
func subgrouped(of, leaf, name, node string) *corev1.Pod {
	pod := ranked(5, node, newPod(of, of+"-"+name))
	pod.Labels = map[string]string{kai.LabelSubGroupName: leaf}
	return pod
}

// withMore is a gang that has started and needs one of its subgroups: a core of one pod, or more, of two.
func withMore(name string, created int64) *scheduling.PodGroup {
	made := podGroup(name, 1)
	made.CreationTimestamp = metav1.Unix(created, 0)
	made.Spec.MinMember, made.Spec.MinSubGroup = nil, ptr.To[int32](1)
	made.Spec.SubGroups = []scheduling.SubGroup{
		{Name: "core", MinMember: ptr.To[int32](1)}, {Name: "more", MinMember: ptr.To[int32](2)},
	}
	made.Status.Conditions = []metav1.Condition{{
		Type: scheduling.ConditionScheduled, Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced,
	}}
	return made
}

// Two gangs run, and of each there are leftovers of a subgroup on a node that the other one needs. The younger one gives
// way, in whatever order they ask; nothing else leaves, and nothing more happens after that.
func TestOfTwoGangsThatWaitForEachOthersLeftoversOneGivesWay(t *testing.T) {
	objects := []kruntime.Object{withMore("old", 1000), withMore("young", 2000)}
	for _, order := range [][]string{{"old-b", "young-b"}, {"young-b", "old-b"}} {
		pods := []*corev1.Pod{
			subgrouped("old", "core", "core", "n0"), subgrouped("old", "more", "a", "n1"), subgrouped("old", "more", "b", ""),
			subgrouped("young", "core", "core", "n2"), subgrouped("young", "more", "a", "n3"), subgrouped("young", "more", "b", ""),
		}
		named := func(name string) *corev1.Pod {
			return pods[slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == name })]
		}
		first := newBench(t, newNodes(4), pods, objects...)
		for _, name := range order {
			require.False(t, first.ask(t, named(name)), "%s has a node", name)
		}
		eventually(t, "the leftovers of the younger one are gone", func() bool { return !first.names(t)["young-a"] })
		assert.True(t, first.plugin.gangs.View(theOld).Preempts, "the room is not that of the older one")
		assert.False(t, first.plugin.gangs.View(theYoung).Preempts, "the room is not that of the older one")

		pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.Name == "young-a" })
		pods = append(pods, subgrouped("young", "more", "again", ""))
		second := newBench(t, newNodes(4), pods, objects...)
		if node, status := second.schedule(t, named("old-b")); node != "n3" || !status.IsSuccess() {
			t.Fatalf("the older one is not whole: %s, %v", node, status)
		}
		for _, name := range []string{"young-b", "young-again"} {
			assert.False(t, second.ask(t, named(name)), "%s has a node", name)
		}
		want := map[string]bool{"old-core": true, "old-a": true, "old-b": true, "young-core": true, "young-b": true,
			"young-again": true}
		assert.Empty(t, cmp.Diff(want, second.names(t)), "pods that are left (-want +got)")
		assert.False(t, second.plugin.gangs.View(theYoung).Preempts, "pods that are left")
	}
}

var theOld, theYoung = gang.Key{Namespace: "default", Name: "old"}, gang.Key{Namespace: "default", Name: "young"}

// Leftovers of another gang leave only where that makes a group whole.
func TestLeftoversStayWhereTheyAreNoHelp(t *testing.T) {
	for name, c := range map[string]struct {
		waiting []*corev1.Pod
		change  func(old, young *scheduling.PodGroup, left *corev1.Pod)
		leaves  bool
	}{
		"a group from nothing needs two nodes": {
			waiting: []*corev1.Pod{subgrouped("old", "more", "a", ""), subgrouped("old", "more", "b", "")},
		},
		"a group that lacks one": {
			waiting: []*corev1.Pod{subgrouped("old", "more", "a", "n1"), subgrouped("old", "more", "b", "")}, leaves: true,
		},
		"a further pod of a whole group": {
			waiting: []*corev1.Pod{subgrouped("old", "core", "a", "n1"), subgrouped("old", "core", "b", "")},
		},
		"a group of which a pod is to be made": {
			waiting: []*corev1.Pod{subgrouped("old", "more", "b", "")},
		},
		"a group that they are part of themselves": {
			waiting: []*corev1.Pod{subgrouped("old", "more", "a", "n1"), subgrouped("old", "more", "b", "")},
			change: func(_, young *scheduling.PodGroup, _ *corev1.Pod) {
				young.Spec.SubGroups[1].MinMember = ptr.To[int32](1)
			},
		},
		"a group that must not preempt": {
			waiting: []*corev1.Pod{subgrouped("old", "more", "a", "n1"),
				neverPreempting(subgrouped("old", "more", "b", ""))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			old, young := withMore("old", 1000), withMore("young", 2000)
			left := subgrouped("young", "more", "a", "n3")
			if c.change != nil {
				c.change(old, young, left)
			}
			pods := append([]*corev1.Pod{subgrouped("old", "core", "core", "n0"), subgrouped("young", "core", "core", "n2"), left},
				c.waiting...)
			if c.waiting[0].Spec.NodeName == "" {
				pods = append(pods, ranked(5, "n1", newPod("", "plain")))
			}
			bench := newBench(t, newNodes(4), pods, old, young)
			for _, pod := range c.waiting {
				if pod.Spec.NodeName == "" && bench.ask(t, pod) {
					t.Errorf("%s has a node", pod.Name)
				}
			}
			assert.Equal(t, c.leaves, bench.plugin.gangs.View(theOld).Preempts, "leftovers leave")
		})
	}
}

func neverPreempting(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
	return pod
}

// A group that lost pods gets back the pods that fit; no other gang gets their room.
func TestLeftoversAreMended(t *testing.T) {
	for name, c := range map[string]struct {
		below time.Duration
		bound bool
	}{"at once": {0, true}, "not once they are stopped": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			group := withMore("old", 1000)
			group.Spec.SubGroups[1].MinMember = ptr.To[int32](3)
			group.Spec.StalenessGracePeriod = &metav1.Duration{Duration: time.Minute}
			since := metav1.NewTime(time.Now().Add(-c.below))
			group.Status.SubGroups = []scheduling.SubGroupStatus{{Name: "more", BelowMinimumSince: &since}}
			pods := []*corev1.Pod{subgrouped("old", "core", "core", "n0"), subgrouped("old", "more", "a", "n1"),
				subgrouped("old", "more", "b", ""), subgrouped("old", "more", "c", "")}
			bench := newBench(t, newNodes(3), pods, group)
			bound := 0
			for _, pod := range pods[2:] {
				if node, status := bench.schedule(t, pod); node == "n2" && status.IsSuccess() {
					bound++
					bench.stands(t, pod, node)
				}
			}
			assert.Equal(t, c.bound, bound == 1, "pods go to the free node")
			assert.LessOrEqual(t, bound, 1, "pods go to the free node")
		})
	}
}
