package podgroupstatus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func numbered(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("z/r%04d", i)
	}
	return names
}

func TestOfManyDomainsTheFirstAreListedAndTheRestCounted(t *testing.T) {
	seen := observed(t, 1, 1, 0)
	seen.Groups = []solve.Group{{Domains: map[string][]string{"zone": {"z"}, "rack": numbered(300)}}}
	got := podgroupstatus.Of(seen, now).SubGroups
	want := []scheduling.SubGroupStatus{{
		Domains:     map[string]scheduling.Domains{"zone": {"z"}, "rack": numbered(300)[:32]},
		MoreDomains: map[string]int32{"rack": 268},
	}}
	assert.Empty(t, cmp.Diff(want, got), "(-want +got)")
}

func TestAPodGroupOfManyGroupsListsFewerDomainsOfEach(t *testing.T) {
	seen := observed(t, 1, 1, 0)
	for range 1000 {
		seen.Groups = append(seen.Groups, solve.Group{Domains: map[string][]string{"zone": {"z"}, "rack": numbered(5)}})
	}
	listed := 0
	for _, group := range podgroupstatus.Of(seen, now).SubGroups {
		listed += len(group.Domains["zone"]) + len(group.Domains["rack"])
		require.Equal(t, int32(5-len(group.Domains["rack"])), group.MoreDomains["rack"],
			"%d racks are listed", len(group.Domains["rack"]))
	}
	assert.Equal(t, 2000, listed, "domains are listed, want one of each level of each group")
}

// What is left of a group that the gang can do without is dated from when it was first seen.
func TestSinceWhenAGroupIsBelowItsMinimum(t *testing.T) {
	seen := observed(t, 1, 1, 0)
	group := seen.Gang.PodGroup.DeepCopy()
	group.Spec = scheduling.PodGroupSpec{MinSubGroup: ptr.To[int32](1), SubGroups: []scheduling.SubGroup{
		{Name: "a", MinMember: ptr.To[int32](1)}, {Name: "b", MinMember: ptr.To[int32](2)},
	}}
	var pods []*corev1.Pod
	for _, leaf := range []string{"a", "b"} {
		pod := seen.Gang.Standing[0].DeepCopy()
		pod.Labels = map[string]string{kai.LabelSubGroupName: leaf}
		pods = append(pods, pod)
	}
	seen.Groups = []solve.Group{{Name: "a"}, {Name: "b"}}
	seen.Gang, _ = gang.Assemble(group, pods, nil)
	for _, at := range []metav1.Time{now, metav1.NewTime(now.Add(time.Hour))} {
		group.Status.SubGroups = podgroupstatus.Of(seen, at).SubGroups
		if a, b := group.Status.SubGroups[0], group.Status.SubGroups[1]; a.BelowMinimumSince != nil ||
			b.BelowMinimumSince == nil || !b.BelowMinimumSince.Time.Equal(now.Time) {
			t.Errorf("at %s: %v and %v", at, a.BelowMinimumSince, b.BelowMinimumSince)
		}
	}
	seen.Gang, _ = gang.Assemble(group, pods[:1], nil)
	assert.Nil(t, podgroupstatus.Of(seen, now).SubGroups[1].BelowMinimumSince, "none of it stands")
}

func TestResources(t *testing.T) {
	seen := observed(t, 2, 1, 2)
	ask := func(pod *corev1.Pod, cpu string) {
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), "example.com/gpu": resource.MustParse("0")},
		}}}
	}
	ask(seen.Gang.Standing[0], "1500m")
	ask(seen.Gang.Pending[0], "500m")
	ask(seen.Gang.Pending[1], "1")
	got := podgroupstatus.Of(seen, now).ResourcesStatus
	want := scheduling.PodGroupResourcesStatus{
		Allocated: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
		Requested: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
	}
	assert.Empty(t, cmp.Diff(want, got), "(-want +got)")
}

func TestNodePoolCondition(t *testing.T) {
	seen := observed(t, 2, 0, 2)
	podGroup := seen.Gang.PodGroup
	podGroup.Labels = map[string]string{kai.LabelNodePool: "blue"}
	status := &podGroup.Status
	step := func(at int64) *scheduling.SchedulingCondition {
		desired := podgroupstatus.Of(seen, metav1.NewTime(time.Unix(at, 0)))
		status.Conditions, status.SchedulingConditions = desired.Status().Conditions, desired.Status().SchedulingConditions
		if len(desired.SchedulingConditions) == 0 {
			return nil
		}
		return &desired.SchedulingConditions[0]
	}
	want := func(told corev1.ConditionStatus, reason, message, transition string, since int64) *scheduling.SchedulingCondition {
		return &scheduling.SchedulingCondition{
			Type: scheduling.UnschedulableOnNodePool, NodePool: "blue", Status: told, Reason: reason, Message: message,
			TransitionID: transition, LastTransitionTime: metav1.NewTime(time.Unix(since, 0)),
		}
	}
	check := func(name string, got, want *scheduling.SchedulingCondition) {
		t.Helper()
		assert.Empty(t, cmp.Diff(want, got), "%s (-want +got)", name)
	}
	check("before the first attempt nothing is known", step(1), nil)
	seen.Last = &solve.Answer{Verdict: "Infeasible", Message: "no rack"}
	check("it does not fit", step(2), want("True", "Infeasible", "no rack", "1", 2))
	seen.Last = &solve.Answer{Verdict: "Unknown", Message: "given up"}
	check("it still does not", step(3), want("True", "Unknown", "given up", "1", 2))
	seen.Last = nil
	check("between attempts", step(4), want("True", "Unknown", "given up", "1", 2))
	seen.Gang.Standing, seen.Gang.Pending = seen.Gang.Pending, nil
	check("it fits", step(5), want("False", "Placed", "", "2", 5))
	podGroup.Spec.SchedulingBackoff = ptr.To(scheduling.NoSchedulingBackoff)
	check("a gang that is tried for ever is never marked", step(6), nil)
}
