package podgroupstatus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

var (
	now    = metav1.NewTime(time.Unix(2000, 0))
	before = metav1.NewTime(time.Unix(1000, 0))
)

// observed is a gang with running and waiting pods.
func observed(t *testing.T, minimum int32, standing, pending int) podgroupstatus.Observed {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang", Generation: 3}}
	podGroup.Spec.MinMember = &minimum
	var pods []*corev1.Pod
	for range standing {
		pods = append(pods, &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}})
	}
	for range pending {
		pods = append(pods, &corev1.Pod{})
	}
	assembled, hold := gang.Assemble(podGroup, pods, func(string) (podgrouptree.Hierarchy, bool) { return nil, false })
	return podgroupstatus.Observed{Gang: assembled, Hold: hold}
}

func TestCondition(t *testing.T) {
	infeasible := &solve.Answer{Verdict: "Infeasible", Message: "no rack has room"}
	further := &solve.Answer{Verdict: "Placed", Message: "1 pod waits"}
	for name, test := range map[string]struct {
		minimum           int32
		standing, pending int
		last              *solve.Answer
		status            metav1.ConditionStatus
		reason, message   string
	}{
		"all stand":                      {2, 2, 0, nil, "True", "Placed", ""},
		"the minimum stands":             {2, 2, 1, further, "True", "Placed", "1 pod waits"},
		"an old answer is of no account": {2, 2, 0, infeasible, "True", "Placed", ""},
		"too few exist":                  {2, 0, 1, nil, "False", "Incomplete", "waiting for pods to be created: the PodGroup has 1 of 2"},
		"it does not fit":                {2, 0, 2, infeasible, "False", "Infeasible", "no rack has room"},
		"not decided yet":                {2, 1, 1, nil, "False", "Waiting", "pods that have a node: 1, pods that wait: 1"},
		"planned, but not bound yet":     {2, 0, 2, &solve.Answer{Verdict: "Placed"}, "False", "Waiting", "pods that have a node: 0, pods that wait: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, test.minimum, test.standing, test.pending)
			seen.Last = test.last
			want := metav1.Condition{
				Type: "Scheduled", Status: test.status, Reason: test.reason, Message: test.message,
				ObservedGeneration: 3, LastTransitionTime: now,
			}
			assert.Empty(t, cmp.Diff(want, podgroupstatus.Of(seen, now).Condition), "condition (-want +got)")
		})
	}
}

// A gang that lost pods is told apart from one that never had them, for as long as any of it stands, and the time of
// its loss does not move.
func TestAGangBelowItsMinimumSaysSo(t *testing.T) {
	infeasible := &solve.Answer{Verdict: "Infeasible", Message: "the gang needs one rack, and running pods tie it to r1"}
	placed := metav1.Condition{Type: "Scheduled", Status: "True", Reason: "Placed", LastTransitionTime: before}
	lost := metav1.Condition{Type: "Scheduled", Status: "False", Reason: "BelowMinimum", LastTransitionTime: before}
	waiting := metav1.Condition{Type: "Scheduled", Status: "False", Reason: "Waiting", LastTransitionTime: before}
	for name, test := range map[string]struct {
		present           metav1.Condition
		standing, pending int
		last              *solve.Answer
		since             metav1.Time
		reason, message   string
	}{
		"as soon as it is": {placed, 1, 1, nil, now, "BelowMinimum",
			"runs below its minimum: the PodGroup has 1 of 2 pods on nodes; the others are being placed"},
		"while the owner has made no new pods": {lost, 1, 0, nil, before, "BelowMinimum",
			"runs below its minimum: the PodGroup has 1 of 2 pods on nodes; waiting for pods to be created: the PodGroup has 1 of 2"},
		"while it cannot be mended where it stands": {lost, 1, 1, infeasible, before, "BelowMinimum",
			"runs below its minimum: the PodGroup has 1 of 2 pods on nodes; the gang needs one rack, and running pods tie it to r1"},
		"while its first pods are being bound": {waiting, 1, 1, nil, before, "Waiting", "pods that have a node: 1, pods that wait: 1"},
		"if it lost a pod for good before it was ever whole": {waiting, 1, 0, nil, now, "BelowMinimum",
			"runs below its minimum: the PodGroup has 1 of 2 pods on nodes; waiting for pods to be created: the PodGroup has 1 of 2"},
		"if the last of its first pods lost its room for good": {waiting, 1, 1, infeasible, now, "BelowMinimum",
			"runs below its minimum: the PodGroup has 1 of 2 pods on nodes; the gang needs one rack, and running pods tie it to r1"},
		"if its first pods stand although the others never came": {metav1.Condition{Type: "Other"}, 1, 0, nil, now, "BelowMinimum",
			"runs below its minimum: the PodGroup has 1 of 2 pods on nodes; waiting for pods to be created: the PodGroup has 1 of 2"},
		"no more once nothing of it stands": {lost, 0, 2, infeasible, before, "Infeasible", infeasible.Message},
		"no more once it is whole":          {lost, 2, 0, nil, now, "Placed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, 2, test.standing, test.pending)
			seen.Gang.PodGroup.Status.Conditions = []metav1.Condition{test.present}
			seen.Last = test.last
			got := podgroupstatus.Of(seen, now).Condition
			if got.Reason != test.reason || got.Message != test.message || !got.LastTransitionTime.Equal(&test.since) {
				t.Errorf("got %s since %s: %s", got.Reason, got.LastTransitionTime, got.Message)
			}
		})
	}
}

// A gang that has started goes on with fewer pods, if it says so. Below that it has to be whole again.
func TestAGangMayGoOnWithFewerPodsThanItStartsWith(t *testing.T) {
	condition := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: "Scheduled", Status: status, Reason: reason, LastTransitionTime: before}}
	}
	placed, below, waiting := condition("True", "Placed"), condition("False", "BelowMinimum"), condition("False", "Waiting")
	for name, test := range map[string]struct {
		present           []metav1.Condition
		written           string
		standing, pending int
		reason, message   string
	}{
		"it is whole":                     {placed, `{"":2}`, 4, 0, "Placed", ""},
		"it has fewer":                    {placed, `{"":2}`, 3, 0, "Placed", "goes on with fewer pods than it needs to start: the PodGroup has 3 of 4 pods on nodes"},
		"it has as few as may be":         {placed, `{"":2}`, 2, 2, "Placed", "goes on with fewer pods than it needs to start: the PodGroup has 2 of 4 pods on nodes"},
		"it has too few":                  {placed, `{"":2}`, 1, 3, "BelowMinimum", "runs below its minimum: the PodGroup has 1 of 2 pods on nodes; the others are being placed"},
		"it has some of them again":       {below, `{"":2}`, 3, 1, "BelowMinimum", "runs below its minimum: the PodGroup has 3 of 4 pods on nodes; the others are being placed"},
		"it has not started":              {waiting, `{"":2}`, 3, 1, "Waiting", "pods that have a node: 3, pods that wait: 1"},
		"it has left, and others come":    {placed, `{"":2}`, 0, 2, "Incomplete", "waiting for pods to be created: the PodGroup has 2 of 4"},
		"what it says cannot be read":     {placed, `2`, 3, 1, "BelowMinimum", "runs below its minimum: the PodGroup has 3 of 4 pods on nodes; the others are being placed"},
		"it says more than it needs":      {placed, `{"":5}`, 4, 0, "Placed", ""},
		"it says nothing":                 {placed, "", 3, 1, "BelowMinimum", "runs below its minimum: the PodGroup has 3 of 4 pods on nodes; the others are being placed"},
		"it speaks of a group it has not": {placed, `{"a":2}`, 3, 1, "BelowMinimum", "runs below its minimum: the PodGroup has 3 of 4 pods on nodes; the others are being placed"},
	} {
		t.Run(name, func(t *testing.T) {
			podGroup := observed(t, 4, 0, 0).Gang.PodGroup
			podGroup.Status.Conditions = test.present
			if test.written != "" {
				podGroup.Annotations = map[string]string{scheduling.AnnotationMinRunning: test.written}
			}
			pods := slices.Concat(slices.Repeat([]*corev1.Pod{{Spec: corev1.PodSpec{NodeName: "node"}}}, test.standing),
				slices.Repeat([]*corev1.Pod{{}}, test.pending))
			assembled, hold := gang.Assemble(podGroup, pods, func(string) (podgrouptree.Hierarchy, bool) { return nil, false })
			got := podgroupstatus.Of(podgroupstatus.Observed{Gang: assembled, Hold: hold}, now).Condition
			assert.Equal(t, test.reason, got.Reason)
			assert.Equal(t, test.message, got.Message)
		})
	}
}

// Pods that have done their work are no loss: what is left of their gang is not stopped for it.
func TestAGangThatComesToItsEndHasLostNothing(t *testing.T) {
	placed := metav1.Condition{Type: "Scheduled", Status: "True", Reason: "Placed", LastTransitionTime: before}
	below := metav1.Condition{Type: "Scheduled", Status: "False", Reason: "BelowMinimum", LastTransitionTime: before}
	for name, test := range map[string]struct {
		present                 metav1.Condition
		standing, pending, done int
		leaving                 bool
		reason                  string
	}{
		"while others work on":            {present: placed, standing: 1, done: 1, reason: "Placed"},
		"at the end":                      {present: placed, done: 2, reason: "Placed"},
		"also if it had lost some":        {present: below, standing: 1, done: 1, reason: "Placed"},
		"and the next ones wait as such":  {present: placed, standing: 1, done: 1, pending: 1, reason: "Waiting"},
		"but those that are missing lack": {present: placed, standing: 0, done: 1, reason: "Incomplete"},
		"unless they are taken away":      {present: placed, standing: 1, done: 1, leaving: true, reason: "BelowMinimum"},
	} {
		t.Run(name, func(t *testing.T) {
			podGroup := observed(t, 2, 0, 0).Gang.PodGroup
			podGroup.Status.Conditions = []metav1.Condition{test.present}
			pods := slices.Concat(
				slices.Repeat([]*corev1.Pod{{Spec: corev1.PodSpec{NodeName: "node"}}}, test.standing),
				slices.Repeat([]*corev1.Pod{{}}, test.pending),
			)
			for range test.done {
				pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
				if test.leaving {
					pod.DeletionTimestamp = &now
				}
				pods = append(pods, pod)
			}
			assembled, hold := gang.Assemble(podGroup, pods, func(string) (podgrouptree.Hierarchy, bool) { return nil, false })
			got := podgroupstatus.Of(podgroupstatus.Observed{Gang: assembled, Hold: hold}, now).Condition
			assert.Equal(t, test.reason, got.Reason, got.Message)
			over := test.reason == "Placed" && test.standing == 0
			assert.Equal(t, over, strings.HasPrefix(got.Message, "finished: "),
				"the message is %q; that the gang has finished is said: %t", got.Message, !over)
		})
	}
}

func TestNothingDiffersTheSecondTime(t *testing.T) {
	seen := observed(t, 1, 1, 0)
	seen.Groups = []solve.Group{{Placed: 1, Needed: 1, Domains: map[string][]string{"zone": {"z1"}, "rack": {}}}}
	seen.Seats = []scheduling.SeatsStatus{{Nodes: []string{"n1"}, Until: &now}}
	seen.Reservations = []scheduling.ReservationStatus{{Reason: scheduling.ReservationOvertaken, Nodes: []string{"n1"}}}
	status := &seen.Gang.PodGroup.Status

	first := podgroupstatus.Of(seen, before)
	require.True(t, first.Differs(status), "a status that was never written is as it should be")
	want := []scheduling.SubGroupStatus{{Scheduled: 1, MinMember: 1, Domains: map[string]scheduling.Domains{"zone": {"z1"}}}}
	assert.Empty(t, cmp.Diff(want, first.SubGroups), "subGroups (-want +got)")
	assert.Empty(t, cmp.Diff(seen.Seats, first.Status().Seats), "seats (-want +got)")
	assert.Empty(t, cmp.Diff(seen.Reservations, first.Status().Reservations), "reservations (-want +got)")
	status.Conditions = append(status.Conditions, metav1.Condition{Type: "Valid"}, first.Condition)
	status.SubGroups = first.SubGroups
	assert.True(t, first.Differs(status), "a status without its seats is as it should be")
	status.Seats = first.Seats
	assert.True(t, first.Differs(status), "a status without its reservations is as it should be")
	status.Reservations = first.Reservations

	second := podgroupstatus.Of(seen, now)
	assert.False(t, second.Differs(status), "the same status differs: %s", cmp.Diff(first, second))
	assert.True(t, second.Condition.LastTransitionTime.Equal(ptr.To(before)),
		"a transition is dated anew although there was none")
}

// How a gang was placed is said once it stands, and not forgotten with the scheduler that placed it.
func TestAPlacedGangWithAnInvalidPodGroup(t *testing.T) {
	seen := observed(t, 2, 2, 0)
	seen.Placement = &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestYes}
	seen.Gang.Tree, seen.Hold = nil, &gang.Hold{Reason: scheduling.ReasonInvalid, Message: "spec.minMember: Required value"}
	status := podgroupstatus.Of(seen, now).Status()
	said := meta.FindStatusCondition(status.Conditions, scheduling.ConditionScheduled)
	if said == nil || said.Reason != scheduling.ReasonInvalid || status.Placement != nil {
		t.Errorf("it says %+v, and %+v of how close together it is", said, status.Placement)
	}
}

func TestPlacement(t *testing.T) {
	three := &scheduling.PlacementStatus{Domains: 3, Fewest: scheduling.FewestNotProved}
	two := &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestYes}
	for name, c := range map[string]struct {
		standing, pending, used  int
		present, placement, want *scheduling.PlacementStatus
	}{
		"as planned, once all that it needs stand":   {standing: 2, used: 2, placement: two, want: two},
		"anew, when it is planned anew":              {standing: 2, used: 2, present: three, placement: two, want: two},
		"not while its pods are being bound":         {standing: 1, pending: 1, used: 1, placement: two},
		"as before while a lost pod is being bound":  {standing: 1, pending: 1, used: 1, present: three, placement: two, want: three},
		"as before by a scheduler that did not plan": {standing: 2, used: 2, present: three, want: three},
		"not of a gang that does not stand":          {pending: 2, present: three, placement: two},
		"not of one that prefers no level any more":  {standing: 2, present: three},
		"with pods beyond the minimum that wait":     {standing: 2, pending: 1, used: 2, placement: two, want: two},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, 2, c.standing, c.pending)
			seen.Groups = []solve.Group{{Placed: c.standing, Needed: 2, Used: c.used}}
			seen.Gang.PodGroup.Status.Placement, seen.Placement = c.present, c.placement
			desired := podgroupstatus.Of(seen, now)
			assert.Empty(t, cmp.Diff(c.want, desired.Status().Placement), "(-want +got)")
			status := desired.Status()
			assert.False(t, desired.Differs(&status), "what was written differs")
			status.Placement = &scheduling.PlacementStatus{Domains: 9, Fewest: scheduling.FewestYes}
			assert.True(t, desired.Differs(&status), "another placement does not differ")
		})
	}
}

// A PodGroup in which 100 groups are wrong, and an answer with many reasons, give short conditions.
func TestConditionsAreShort(t *testing.T) {
	reasons := strings.Repeat("subgroup "+strings.Repeat("é", 120)+" has no room; ", 100)
	wrong := observed(t, 1, 1, 0).Gang.PodGroup
	for i := range 100 {
		wrong.Spec.SubGroups = append(wrong.Spec.SubGroups, scheduling.SubGroup{Name: fmt.Sprintf("group-%d", i),
			Parent: ptr.To(strings.Repeat("a", 63))})
	}
	invalid, hold := gang.Assemble(wrong, nil, func(string) (podgrouptree.Hierarchy, bool) { return nil, false })
	lacking := observed(t, 2, 1, 1)
	lacking.Last = &solve.Answer{Verdict: "Infeasible", Message: reasons}
	further := observed(t, 1, 1, 1)
	further.Last = &solve.Answer{Verdict: "Placed", Message: reasons}
	lacking.Repair = gangstate.Repair{Reason: "NoRoom", Message: reasons}
	for reason, seen := range map[string]podgroupstatus.Observed{
		"Invalid": {Gang: invalid, Hold: hold}, "BelowMinimum": lacking, "Placed": further,
	} {
		for _, condition := range podgroupstatus.Of(seen, now).Status().Conditions {
			if len(condition.Message) > 1024 || !utf8.ValidString(condition.Message) {
				t.Errorf("%s: %s has %d bytes: %s", reason, condition.Type, len(condition.Message), condition.Message)
			}
			assert.False(t, condition.Type == scheduling.ConditionScheduled && condition.Reason != reason,
				"the reason is %s, want %s", condition.Reason, reason)
		}
	}
}
