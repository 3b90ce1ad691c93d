package gangstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// refuse has an answer given to a pod of a gang that has these others.
func (s *State) refuse(to string, given *solve.Answer, others ...string) {
	about := []*corev1.Pod{pod(to)}
	for _, other := range others {
		about = append(about, pod(other))
	}
	s.record(mine).remember(version(1), pod(to), given, about)
}

func (s *State) repeated(generation int64, to types.UID) *solve.Answer {
	return s.record(mine).repeat(version(generation), to)
}

func TestEachPodIsToldAnAnswerOnce(t *testing.T) {
	state := New(anyone, nil)
	answer := &solve.Answer{Verdict: "Infeasible"}
	state.refuse("a", answer, "b")
	assert.Nil(t, state.repeated(1, "a"), "the pod that asked is answered again")
	assert.Nil(t, state.repeated(2, "b"), "an answer about an older PodGroup is given")
	assert.Same(t, answer, state.repeated(1, "b"), "another pod is not answered exactly once")
	assert.Nil(t, state.repeated(1, "b"), "another pod is not answered exactly once")
	state.refuse("a", &solve.Answer{Verdict: "Placed", Nodes: map[string]string{"a": "n1"}})
	assert.Nil(t, state.repeated(1, "b"), "a plan is repeated as if it were a refusal")
	state.record(mine).last = nil
	assert.Nil(t, state.View(mine).Last, "a forgotten answer is remembered")
}

// A pod can ask, and be answered, before the gang hears of it. The answer must be kept: it says why the gang waits.
func TestAnAnswerOutlivesThePodsThatItIsAbout(t *testing.T) {
	state := New(anyone, nil)
	state.refuse("asked", &solve.Answer{Verdict: "Infeasible"}, "other")
	for _, known := range []types.UID{"asked", "other"} {
		if state.record(mine).newcomer(known); state.View(mine).Last == nil {
			t.Fatalf("dropped for %s", known)
		}
	}
	if state.record(mine).newcomer("new"); state.View(mine).Last != nil {
		t.Error("kept although the gang has a pod that it was given without")
	}
}

// With the pod that comes while the others are refused, their subgroup may be complete.
func TestAnAnswerIsNotRepeatedToAPodThatItIsNotAbout(t *testing.T) {
	late := memberPod("late", "")
	for name, word := range map[string]func(*State){
		"word of it comes before it asks": func(s *State) { s.added(late, start) },
		"it asks before word comes":       func(*State) {},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(1, memberPod("a", "n1"), memberPod("b", ""))
			b := memberPod("b", "")
			asked, began := &gang.Gang{PodGroup: groupOf(1), Pending: []*corev1.Pod{b}}, state.Now()
			word(state)
			state.Refused(asked, version(1), b,
				&solve.Answer{Verdict: scheduling.ReasonPlaced, Message: "no room for more"}, began)
			reply, _ := state.Ask(mine, version(1), late.UID)
			assert.Equal(t, Reply{}, reply, "a pod that the answer is not about")
			assert.Nil(t, state.View(mine).Current(version(1)), "the answer counts as true still")
		})
	}
}

// While a gang of a thousand pods is searched for, other gangs come and go.
func TestARefusalIsRemembered(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*State)
		// near has the gang be near the other one.
		near, remembered bool
	}{
		"while pods of another gang end": {
			meanwhile: func(s *State) { s.deleted(ofOther(memberPod("job", "n9")), start) }, remembered: true,
		},
		"while another gang is changed": {
			meanwhile: func(s *State) { s.groupDeleted(otherGroup(), start) }, remembered: true,
		},
		"unless that is one that it has to be near": {
			meanwhile: func(s *State) { s.groupDeleted(otherGroup(), start) }, near: true,
		},
		"unless its own pods change": {meanwhile: func(s *State) { s.deleted(memberPod("c", ""), start) }},
		"unless its PodGroup changes": {meanwhile: func(s *State) {
			more := groupOf(2)
			more.Generation = 2
			s.PodGroupChanged(groupOf(2), more, start)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := memberPod("a", ""), memberPod("b", "")
			state := known(2, a, b, memberPod("c", ""))
			state.PodGroupChanged(nil, otherGroup(), start)
			state.added(ofOther(memberPod("job", "n9")), start)
			if c.near {
				near := groupOf(2)
				says(scheduling.AnnotationRelations, `[{"name":"r","near":"other","topology":"t","level":"zone"}]`)(near)
				state.PodGroupChanged(groupOf(2), near, start)
			}
			asked, began := &gang.Gang{PodGroup: groupOf(2), Pending: []*corev1.Pod{a, b}}, state.Now()
			c.meanwhile(state)
			state.Refused(asked, version(1), a, &solve.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}, began)
			reply, _ := state.Ask(mine, version(1), b.UID)
			assert.NotEqual(t, c.remembered, reply == Reply{}, "the next pod gets %+v", reply)
		})
	}
}
