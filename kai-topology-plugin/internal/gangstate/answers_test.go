package gangstate

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decision"
)

func (s *State) told(to string, given *decision.Answer) {
	s.record(mine).remember(version(1), pod(to), given)
}

func (s *State) repeated(generation int64, to types.UID) *decision.Answer {
	return s.record(mine).repeat(version(generation), to)
}

func TestEachPodIsToldAnAnswerOnce(t *testing.T) {
	state := New(anyone)
	answer := &decision.Answer{Verdict: "Infeasible"}
	state.told("a", answer)
	if state.repeated(1, "a") != nil {
		t.Error("the pod that asked is told again")
	}
	if state.repeated(2, "b") != nil {
		t.Error("an answer about an older PodGroup is given")
	}
	if state.repeated(1, "b") != answer || state.repeated(1, "b") != nil {
		t.Error("another pod is not told exactly once")
	}
	state.told("a", &decision.Answer{Verdict: "Placed", Nodes: map[string]string{"a": "n1"}})
	if state.repeated(1, "b") != nil {
		t.Error("a plan is repeated as if it were a refusal")
	}
	state.record(mine).last = nil
	if state.Last(mine) != nil {
		t.Error("a forgotten answer is remembered")
	}
}

// A pod can ask, and be answered, before the gang hears of it. Were the answer dropped then, nobody would say why it
// waits.
func TestAnAnswerOutlivesThePodsThatItWasGivenTo(t *testing.T) {
	state := New(anyone)
	state.told("asked", &decision.Answer{Verdict: "Infeasible"})
	state.record(mine).newcomer("asked")
	if state.Last(mine) == nil {
		t.Error("dropped for a pod that was told")
	}
	state.record(mine).newcomer("new")
	if state.Last(mine) != nil {
		t.Error("kept although the gang has a pod that it was given without")
	}
}
