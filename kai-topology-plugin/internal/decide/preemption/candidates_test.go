package preemption_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// podOn is a pod on node n, of a gang unless that is empty.
func podOn(name, of string, priority int32) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name),
		Labels: map[string]string{"app": name}}}
	pod.Spec.NodeName, pod.Spec.Priority = "n", &priority
	if of != "" {
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: of}
	}
	return pod
}

func groupOf(name string, preemptibility scheduling.Preemptibility) *scheduling.PodGroup {
	return &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       scheduling.PodGroupSpec{MinMember: ptr.To[int32](1), Preemptibility: preemptibility},
	}
}

// reader reads PodGroups of a list.
func reader(groups ...*scheduling.PodGroup) preemption.PodGroups {
	return func(key gang.Key) (*scheduling.PodGroup, error) {
		for _, group := range groups {
			if gang.KeyOfPodGroup(group) == key {
				return group, nil
			}
		}
		return nil, apierrors.NewNotFound(scheduling.Resource("podgroups"), key.Name)
	}
}

func nodeWith(pods ...*corev1.Pod) []fwk.NodeInfo {
	node := framework.NewNodeInfo(pods...)
	node.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	return []fwk.NodeInfo{node}
}

func TestCandidates(t *testing.T) {
	itself := gang.Rank{Priority: 5, Gang: gang.Key{Namespace: "ns", Name: "itself"}}
	leaving := podOn("leaving", "", 9)
	leaving.DeletionTimestamp = &metav1.Time{}
	for name, c := range map[string]struct {
		pods  []*corev1.Pod
		empty bool
	}{
		"nobody where nobody stands":  {nil, true},
		"a pod without a gang":        {[]*corev1.Pod{podOn("a", "", 4)}, false},
		"no pod of the same priority": {[]*corev1.Pod{podOn("a", "", 5)}, true},
		"no pod of the gang itself":   {[]*corev1.Pod{podOn("a", "itself", 1)}, true},
		"a gang":                      {[]*corev1.Pod{podOn("a", "open", 1)}, false},
		"no gang of which one pod is of the same priority": {
			[]*corev1.Pod{podOn("a", "open", 1), podOn("b", "open", 5)}, true,
		},
		"no gang that is non-preemptible":                        {[]*corev1.Pod{podOn("a", "spared", 1)}, true},
		"a gang whose PodGroup is deleted":                       {[]*corev1.Pod{podOn("a", "gone", 1)}, false},
		"a pod that leaves by itself, whatever its priority may": {[]*corev1.Pod{leaving}, false},
	} {
		t.Run(name, func(t *testing.T) {
			groups := reader(groupOf("open", ""), groupOf("spared", scheduling.NonPreemptible))
			found, err := preemption.CandidatesFor(itself, nodeWith(c.pods...), groups, preemption.Budgets{})
			require.NoError(t, err)
			assert.Equal(t, c.empty, found.Empty(), "there is nobody")
		})
	}
}

// Of a gang that needs one of two subgroups, the other one has one pod of two: it is of no use, and leaves for a gang of
// the same priority, unless its successor may be about to come. The rest of the gang stays.
func TestLeftoversLeaveForGangsNotBelowThem(t *testing.T) {
	for name, c := range map[string]struct {
		priority int32
		seated   string
		leaf     string
		empty    bool
	}{
		"for the same priority":              {priority: 5, leaf: "b"},
		"not for a lower one":                {priority: 4, leaf: "b", empty: true},
		"not while its seat is held":         {priority: 5, leaf: "b", seated: "b", empty: true},
		"while another group's seat is held": {priority: 5, leaf: "b", seated: "a"},
		"but not what the gang cannot miss":  {priority: 5, leaf: "a", empty: true},
	} {
		group := groupOf("gang", "")
		group.Spec = scheduling.PodGroupSpec{MinSubGroup: ptr.To[int32](1), SubGroups: []scheduling.SubGroup{
			{Name: "a", MinMember: ptr.To[int32](1)}, {Name: "b", MinMember: ptr.To[int32](2)},
		}}
		if c.seated != "" {
			group.Status.Seats = []scheduling.SeatsStatus{{SubGroup: c.seated, Nodes: []string{"n"}}}
		}
		core, left := podOn("core", "gang", 5), podOn("left", "gang", 5)
		core.Labels[kai.LabelSubGroupName], left.Labels[kai.LabelSubGroupName] = "a", c.leaf
		found, err := preemption.CandidatesFor(gang.Rank{Priority: c.priority}, nodeWith(core, left), reader(group),
			preemption.Budgets{})
		require.NoError(t, err, name)
		assert.Equal(t, c.empty, found.Empty(), name)
	}
}

// For a group that a gang can do without only leftovers leave, and only those of gangs that rank lower.
func TestOnlyLeftoversOfLowerRanksLeaveForAGroupThatAGangCanDoWithout(t *testing.T) {
	asking := gang.Rank{Priority: 5, Since: time.Unix(100, 0), Gang: gang.Key{Namespace: "ns", Name: "asking"}}
	for name, c := range map[string]struct {
		name     string
		priority int32
		created  int64
		core     bool
		spared   bool
		empty    bool
	}{
		"of a younger gang":              {name: "a", priority: 5, created: 101, core: true},
		"of a lower priority":            {name: "a", priority: 4, created: 99, core: true},
		"of a gang with a later name":    {name: "b", priority: 5, created: 100, core: true},
		"not of one with an earlier":     {name: "a", priority: 5, created: 100, core: true, empty: true},
		"not of an older gang":           {name: "b", priority: 5, created: 99, core: true, empty: true},
		"not of a higher priority":       {name: "b", priority: 6, created: 101, core: true, empty: true},
		"not of the gang itself":         {name: "asking", priority: 5, created: 100, core: true, empty: true},
		"not of one that is spared":      {name: "b", priority: 4, created: 101, core: true, spared: true, empty: true},
		"not what another gang can miss": {name: "b", priority: 4, created: 101, empty: true},
	} {
		group := groupOf(c.name, "")
		if c.spared {
			group.Spec.Preemptibility = scheduling.NonPreemptible
		}
		group.CreationTimestamp = metav1.Unix(c.created, 0)
		group.Spec.MinMember, group.Spec.MinSubGroup = nil, ptr.To[int32](1)
		group.Spec.SubGroups = []scheduling.SubGroup{
			{Name: "core", MinMember: ptr.To[int32](1)}, {Name: "more", MinMember: ptr.To[int32](2)},
		}
		pods := []*corev1.Pod{podOn("left", c.name, c.priority), podOn("plain", "", 1)}
		pods[0].Labels[kai.LabelSubGroupName] = "more"
		if c.core {
			pods = append(pods, podOn("core", c.name, c.priority))
			pods[2].Labels[kai.LabelSubGroupName] = "core"
		}
		found, err := preemption.LeftoversBelow(asking, nodeWith(pods...), reader(group), preemption.Budgets{})
		require.NoError(t, err, name)
		assert.Equal(t, c.empty, found.Empty(), name)
	}
}

func TestOnlyWorkloadsThatAreAcceptedAreCandidates(t *testing.T) {
	for accepted, empty := range map[string]bool{"a": false, "b": true} {
		found, err := preemption.CandidatesAmong(gang.Rank{Priority: 8}, nodeWith(podOn("a", "", 7), podOn("b", "", 9)),
			reader(), preemption.Budgets{}, func(pods []*corev1.Pod) bool { return pods[0].Name == accepted })
		if err != nil || found.Empty() != empty {
			t.Errorf("with %s accepted there is nobody: %t, want %t, error %v", accepted, found.Empty(), empty, err)
		}
	}
}

func TestAPodGroupThatCannotBeReadIsAnError(t *testing.T) {
	broken := func(gang.Key) (*scheduling.PodGroup, error) { return nil, errors.New("the cache is broken") }
	_, err := preemption.CandidatesFor(gang.Rank{Priority: 5}, nodeWith(podOn("a", "open", 1)), broken,
		preemption.Budgets{})
	assert.Error(t, err, "the gang is a candidate though nobody knows whether it is preemptible")
}

func TestBudgetsCountThePodsThatTheySelect(t *testing.T) {
	budget := func(name string, allowed int32, selector *metav1.LabelSelector,
		gone ...string) *policyv1.PodDisruptionBudget {
		made := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		made.Spec.Selector, made.Status.DisruptionsAllowed = selector, allowed
		made.Status.DisruptedPods = map[string]metav1.Time{}
		for _, pod := range gone {
			made.Status.DisruptedPods[pod] = metav1.Time{}
		}
		return made
	}
	either := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}},
	}}
	pods := []*corev1.Pod{podOn("a", "", 0), podOn("b", "", 0), podOn("c", "", 0)}
	for name, c := range map[string]struct {
		budgets []*policyv1.PodDisruptionBudget
		want    int
	}{
		"none":                       {nil, 0},
		"one that allows both":       {[]*policyv1.PodDisruptionBudget{budget("x", 2, either)}, 0},
		"one that allows one":        {[]*policyv1.PodDisruptionBudget{budget("x", 1, either)}, 1},
		"two that allow none":        {[]*policyv1.PodDisruptionBudget{budget("x", 0, either), budget("y", 0, either)}, 4},
		"one pod is counted as gone": {[]*policyv1.PodDisruptionBudget{budget("x", 0, either, "a")}, 1},
		"one that selects nothing":   {[]*policyv1.PodDisruptionBudget{budget("x", 0, &metav1.LabelSelector{})}, 0},
	} {
		assert.Equal(t, c.want, preemption.BudgetsOf(c.budgets).Violations(pods), "%s: overdrawn", name)
	}
}
