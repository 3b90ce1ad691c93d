package gangstate_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

func TestOnlyOtherAnswersAreWritten(t *testing.T) {
	state := gangstate.New(func(string) bool { return true })
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1"}}
	state.PodGroupChanged(nil, podGroup, time.Unix(0, 0))
	known, unknown := gang.KeyOfPodGroup(podGroup), gang.Key{Namespace: "ns", Name: "deleted since"}
	if answer := state.SuccessorsAnswer(known); answer != (successors.Answer{}) {
		t.Errorf("before anybody asks: %+v", answer)
	}
	no := successors.Answer{ID: "1", Fits: metav1.ConditionFalse, Sentence: "no room"}
	yes, next := no, no
	yes.Fits, next.ID = metav1.ConditionTrue, "2"
	for _, step := range []struct {
		what   string
		answer successors.Answer
		writes int
	}{
		{"the first answer", no, 1}, {"the same", no, 0}, {"another", yes, 1}, {"the same to another question", next, 1},
	} {
		effects := state.SuccessorsAnswered(map[gang.Key]successors.Answer{known: step.answer, unknown: step.answer})
		if len(effects.WriteStatus) != step.writes {
			t.Errorf("%s: %v are written, want %d", step.what, effects.WriteStatus, step.writes)
		}
		if answer := state.SuccessorsAnswer(known); answer != step.answer {
			t.Errorf("%s: %+v", step.what, answer)
		}
	}
	if answer := state.SuccessorsAnswer(unknown); answer != (successors.Answer{}) {
		t.Errorf("of no gang: %+v", answer)
	}
}
