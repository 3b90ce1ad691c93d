package gang_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/kueue"
	"packtree.dev/shared/podgrouptree"
)

func levels(topology string) (podgrouptree.Hierarchy, bool) {
	return podgrouptree.Hierarchy{{Key: "zone", Alias: "z"}, {Key: "block", Alias: "b"}, {Key: "rack", Alias: "b"}},
		topology == "known"
}

func podIn(leaf, name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kai.LabelSubGroupName: leaf}}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func gated(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}} }
func inQueue(pod *corev1.Pod) {
	pod.Labels[kueue.LabelQueue] = "team-a"
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.GateAdmission}}
}
func bound(pod *corev1.Pod)    { pod.Spec.NodeName = "node" }
func deleted(pod *corev1.Pod)  { pod.DeletionTimestamp = ptr.To(metav1.Now()) }
func finished(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }

func TestAssemble(t *testing.T) {
	twoLeaves := scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{
		{Name: "a", MinMember: ptr.To[int32](1)},
		{Name: "b", MinMember: ptr.To[int32](2)},
	}}
	oneOfTwo := *twoLeaves.DeepCopy()
	oneOfTwo.MinSubGroup = ptr.To[int32](1)
	unknown := *twoLeaves.DeepCopy()
	unknown.SubGroups[1].TopologyConstraint = &scheduling.TopologyConstraint{Topology: "missing",
		RequiredTopologyLevel: "rack"}
	cycle := *twoLeaves.DeepCopy()
	cycle.SubGroups[0].Parent = ptr.To("a")

	tests := map[string]struct {
		spec scheduling.PodGroupSpec
		pods []*corev1.Pod
		want *gang.Hold
	}{
		"a gang with all its minima can be planned": {
			spec: twoLeaves, pods: []*corev1.Pod{podIn("a", "a1"), podIn("b", "b1"), podIn("b", "b2", bound)},
		},
		"a leaf one short holds the gang and is named": {
			spec: twoLeaves, pods: []*corev1.Pod{podIn("a", "a1"), podIn("b", "b1")},
			want: &gang.Hold{
				Reason: "Incomplete", Lacks: true, Message: "waiting for pods to be created: subgroup b has 1 of 2",
			},
		},
		"one satisfied child is enough where minSubGroup says so": {
			spec: oneOfTwo, pods: []*corev1.Pod{podIn("a", "a1")},
		},
		"pods behind a gate, on their way out or done do not count": {
			spec: twoLeaves,
			pods: []*corev1.Pod{podIn("a", "a1", deleted), podIn("b", "b1", gated), podIn("b", "b2", finished),
				podIn("b", "b3")},
			want: &gang.Hold{
				Reason: "Incomplete",
				Lacks:  true, Message: "waiting for pods to be created: subgroup a has 0 of 1, subgroup b has 1 of 2; " +
					"pods held by scheduling gates: 1",
			},
		},
		"a gang that has all its pods and no quota waits for that": {
			spec: twoLeaves,
			pods: []*corev1.Pod{podIn("a", "a1", inQueue), podIn("b", "b1", inQueue), podIn("b", "b2", inQueue)},
			want: &gang.Hold{
				Reason: "Incomplete", Lacks: true, Message: "waits for quota in queue team-a, pods: 3",
			},
		},
		"a gang that lacks pods and quota waits for both": {
			spec: twoLeaves,
			pods: []*corev1.Pod{podIn("a", "a1", inQueue), podIn("b", "b1", gated)},
			want: &gang.Hold{
				Reason: "Incomplete", Lacks: true,
				Message: "waiting for pods to be created: subgroup a has 0 of 1, subgroup b has 0 of 2; " +
					"waits for quota in queue team-a, pods: 1; pods held by scheduling gates: 1",
			},
		},
		"a pod of a leaf that does not exist counts for none": {
			spec: twoLeaves, pods: []*corev1.Pod{podIn("a", "a1"), podIn("b", "b1"), podIn("c", "c1"), podIn("c", "c2")},
			want: &gang.Hold{
				Reason: "Incomplete",
				Lacks:  true, Message: "waiting for pods to be created: subgroup b has 1 of 2; " +
					`pod c1 names subgroup "c", which is no leaf of the PodGroup (and 1 more): label kai.scheduler/subgroup-name is to be a or b`,
			},
		},
		"an unknown topology is named with its path": {
			spec: unknown, pods: []*corev1.Pod{podIn("a", "a1"), podIn("b", "b1"), podIn("b", "b2")},
			want: &gang.Hold{
				Reason:  "Invalid",
				Message: `spec.subGroups[1].topologyConstraint.topology: Invalid value: "missing": no Topology has this name: create it, or name another`,
			},
		},
		"a cycle of groups is invalid": {
			spec: cycle,
			want: &gang.Hold{Reason: "Invalid",
				Message: `spec.subGroups[0].parent: Invalid value: "a": parents make a cycle: a → a; one of them needs another parent, or none`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := gang.Assemble(&scheduling.PodGroup{Spec: test.spec}, test.pods, levels)
			assert.Empty(t, cmp.Diff(test.want, got), "hold (-want +got)")
		})
	}
}

func TestRankOrder(t *testing.T) {
	now := time.Unix(1000, 0)
	first := gang.Rank{Priority: 1, Since: now.Add(time.Hour), Gang: gang.Key{Name: "z"}}
	second := gang.Rank{Begun: true, Since: now.Add(time.Hour), Gang: gang.Key{Name: "y"}}
	third := gang.Rank{Since: now, Gang: gang.Key{Name: "x"}}
	fourth := gang.Rank{Since: now.Add(time.Second), Gang: gang.Key{Name: "a"}}
	fifth := gang.Rank{Since: now.Add(time.Second), Gang: gang.Key{Name: "b"}}
	want := []gang.Rank{first, second, third, fourth, fifth}
	got := []gang.Rank{fifth, third, first, fourth, second}
	slices.SortFunc(got, gang.Rank.Compare)
	assert.Empty(t, cmp.Diff(want, got), "priority, then half-bound gangs, then age, then name (-want +got)")
}

func TestPodsOfAnotherSchedulerAreNotPlaced(t *testing.T) {
	by := func(scheduler string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Spec.SchedulerName = scheduler }
	}
	podGroup := &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](3)}}
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want *gang.Hold
	}{
		"one that waits for another scheduler does not count, and is named": {
			pods: []*corev1.Pod{podIn("", "a", by("ours")), podIn("", "b", by("ours")), podIn("", "c", by("other"))},
			want: &gang.Hold{Reason: scheduling.ReasonIncomplete,
				Lacks: true, Message: "waiting for pods to be created: the PodGroup has 2 of 3; " +
					"pod c waits for another scheduler, other: all pods of a gang need one spec.schedulerName"},
		},
		"the first of several is named": {
			pods: []*corev1.Pod{podIn("", "a", by("ours")), podIn("", "d", by("other")), podIn("", "c", by("third"))},
			want: &gang.Hold{Reason: scheduling.ReasonIncomplete,
				Lacks: true, Message: "waiting for pods to be created: the PodGroup has 1 of 3; " +
					"pod c waits for another scheduler, third (and 1 more): all pods of a gang need one spec.schedulerName"},
		},
		"one that another scheduler has bound counts": {
			pods: []*corev1.Pod{podIn("", "a", by("ours")), podIn("", "b", by("ours")), podIn("", "c", by("other"), bound)},
		},
		"one beyond the minimum is left alone": {
			pods: []*corev1.Pod{podIn("", "a", by("ours")), podIn("", "b", by("ours")), podIn("", "d", by("ours")),
				podIn("", "c", by("other"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, hold := gang.AssembleFor(func(name string) bool { return name == "ours" }, podGroup, test.pods, levels)
			assert.Empty(t, cmp.Diff(test.want, hold), "hold (-want +got)")
			for _, pod := range assembled.Pending {
				assert.Equal(t, "ours", pod.Spec.SchedulerName,
					"pod %s of scheduler %s is pending", pod.Name, pod.Spec.SchedulerName)
			}
		})
	}
}

func TestLevelsAreCalledByTheirAliases(t *testing.T) {
	podGroup := &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: "known", RequiredTopologyLevel: "z",
			PreferredTopologyLevel: "rack"},
		SubGroups: []scheduling.SubGroup{
			{Name: "a", MinMember: ptr.To[int32](1), TopologyConstraint: &scheduling.TopologyConstraint{
				Topology: "known", PreferredTopologyLevel: "z",
			}}},
	}}
	podGroup.Annotations = map[string]string{
		scheduling.AnnotationBaseGang: "base", scheduling.AnnotationSharedTopology: "known",
		scheduling.AnnotationSharedRequired: "z",
	}
	assembled, hold := gang.Assemble(podGroup, []*corev1.Pod{podIn("a", "a1")}, levels)
	require.Nil(t, hold)
	got := []scheduling.TopologyConstraint{assembled.Tree.Root.Constraint, assembled.Tree.Leaf("a").Constraint,
		assembled.Shared.Constraint}
	want := []scheduling.TopologyConstraint{
		{Topology: "known", RequiredTopologyLevel: "zone", PreferredTopologyLevel: "rack"},
		{Topology: "known", PreferredTopologyLevel: "zone"}, {Topology: "known", RequiredTopologyLevel: "zone"},
	}
	assert.Empty(t, cmp.Diff(want, got), "constraints (-want +got)")
	assert.Equal(t, "z", podGroup.Spec.TopologyConstraint.RequiredTopologyLevel, "the PodGroup itself has changed")
	podGroup.Spec.TopologyConstraint.RequiredTopologyLevel = "b"
	_, hold = gang.Assemble(podGroup, nil, levels)
	const reason = `spec.topologyConstraint.requiredTopologyLevel: Invalid value: "b": is the alias of 2 levels of Topology "known", block and rack: ` +
		"name the one that is meant by its label, or give it another alias"
	if hold == nil || hold.Reason != scheduling.ReasonInvalid || hold.Message != reason {
		t.Errorf("held by %v, want %s", hold, reason)
	}
}
