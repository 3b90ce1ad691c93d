package gangstate

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// A gang of one pod, which may enter the queue after a second.
func TestHowLongAGangIsComplete(t *testing.T) {
	member := pod("a")
	member.Namespace, member.Annotations = mine.Namespace, map[string]string{scheduling.AnnotationPodGroupName: mine.Name}
	complete := func() *State {
		state := New(anyone, nil)
		state.Opened(start)
		state.PodGroupChanged(nil, asking().PodGroup, start)
		state.added(member, start)
		reason, _ := state.Queued(mine, member, start.Add(time.Second))
		require.Empty(t, reason, "it is held")
		return state
	}
	for name, test := range map[string]struct {
		reasons []string
		want    time.Time
	}{
		"until it is bound":              {nil, start.Add(time.Second)},
		"also if it did not fit":         {[]string{"Infeasible"}, start.Add(time.Second)},
		"not again":                      {[]string{""}, time.Time{}},
		"not since it lost a pod":        {[]string{"Infeasible", scheduling.ReasonIncomplete}, time.Time{}},
		"not since it cannot be planned": {[]string{scheduling.ReasonInvalid}, time.Time{}},
	} {
		state := complete()
		state.Queued(mine, member, start.Add(2*time.Second))
		for _, reason := range test.reasons {
			state.Concluded(mine, reason)
		}
		got := state.Concluded(mine, "")
		assert.True(t, got.Equal(test.want), "%s: %s, want %s", name, got, test.want)
	}
}

// Another process has placed it, and reported how long that took.
func TestAGangThatAnotherProcessPlacedIsNotReportedAgain(t *testing.T) {
	member := pod("a")
	member.Namespace, member.Annotations = mine.Namespace, map[string]string{scheduling.AnnotationPodGroupName: mine.Name}
	state, group := New(anyone, nil), asking().PodGroup
	state.Opened(start)
	state.PodGroupChanged(nil, group, start)
	state.added(member, start)
	state.Queued(mine, member, start)
	placed := group.DeepCopy()
	placed.Status.Conditions = []metav1.Condition{{Type: scheduling.ConditionScheduled, Status: metav1.ConditionTrue}}
	state.PodGroupChanged(group, placed, start)
	state.Leads(start.Add(time.Hour))
	complete := state.Concluded(mine, "")
	assert.True(t, complete.IsZero(), "it is complete since %s", complete)
}

// The race detector looks at this.
func TestEverybodyMayCallAtAnyTime(t *testing.T) {
	state := New(anyone, nil)
	state.Opened(start)
	group, member := asking().PodGroup, pod("a")
	member.Namespace, member.Annotations = mine.Namespace, map[string]string{scheduling.AnnotationPodGroupName: mine.Name}
	version := VersionOf(group, func(string) string { return "" })
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"a": "n1"}}
	refusal := &solve.Answer{Verdict: scheduling.ReasonInfeasible}
	asked := &gang.Gang{PodGroup: group, Tree: needing(1), Pending: []*corev1.Pod{member}}
	onNode := member.DeepCopy()
	onNode.Spec.NodeName = "n1"
	var all sync.WaitGroup
	for _, call := range []func(){
		func() { state.PodGroupChanged(nil, group, start) },
		func() { state.added(member, start) },
		func() { state.PodChanged(member, onNode, start) },
		func() { state.deleted(member, start) },
		func() { state.Queued(mine, member, start); state.View(mine) },
		func() { state.Ask(mine, version, member.UID); state.View(mine) },
		func() {
			state.Planned(asked, version, member, answer, []Placement{{Pod: member, Node: "n1"}}, Taking{}, start)
		},
		func() { state.Refused(asked, version, member, refusal, state.Now()) },
		func() { state.assumedOn(onNode); state.Permit(mine, member.UID, version, "") },
		func() { state.Unassumed(mine, member.UID, start); state.Tick(start) },
		func() { state.Break(mine, PodLost, "test"); state.reserved(other, 0); state.nodeOf(mine) },
		func() { state.TopologyChanged("t", podgrouptree.Hierarchy{{Key: "rack"}}, start) },
		func() { state.nodeGone("n1") },
		func() {
			state.DidNotFit(asked, Claim{Rank: asked.Rank()}, 0, state.Now(), nil)
			state.reservedForOverdue(gang.Rank{Gang: other})
		},
		func() { state.Concluded(mine, "x") },
		func() {
			state.Preempting(asked, version, member, nil, nil, "they leave", asRead(asked, version))
			state.deleted(pod("v"), start)
			state.EndPreemption(mine)
		},
	} {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 200 {
				call()
			}
		}()
	}
	all.Wait()
	state.deleted(member, start)
	state.groupDeleted(group, start)
	state.Concluded(mine, "")
	state.Unassumed(mine, member.UID, start)
	if len(state.gangs) > 0 {
		state.Tick(start.Add(2 * SeatLife))
	}
	assert.Empty(t, state.reserved(other, 0), "room is kept for a gang that is gone")
}
