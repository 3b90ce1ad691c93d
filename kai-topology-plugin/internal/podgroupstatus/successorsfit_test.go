package podgroupstatus_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

func TestSuccessorsFit(t *testing.T) {
	question, err := successors.New([]successors.Group{{PodGroup: "gang", Pods: []string{"p"}}}, metav1.Time{})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(id string, fits metav1.ConditionStatus, sentence string) successors.Answer {
		return successors.Answer{ID: id, Fits: fits, Reason: scheduling.ReasonInfeasible, Sentence: sentence}
	}
	said := func(answer successors.Answer, since metav1.Time) *metav1.Condition {
		condition := answer.Condition()
		condition.ObservedGeneration, condition.LastTransitionTime = 3, since
		return &condition
	}
	no, yes := answer(question.ID, "False", "no room"), answer(question.ID, "True", "room")
	other := answer("other", "True", "room")
	for name, test := range map[string]struct {
		written string
		present *metav1.Condition
		last    successors.Answer
		want    *metav1.Condition
	}{
		"nobody asks":                      {},
		"nobody asks any more":             {present: said(no, before), last: no},
		"no answer yet":                    {written: question.String()},
		"nor to this question":             {written: question.String(), present: said(other, before), last: other},
		"an answer":                        {written: question.String(), last: no, want: said(no, now)},
		"the same answer":                  {written: question.String(), present: said(no, before), last: no, want: said(no, before)},
		"in other words":                   {written: question.String(), present: said(answer(question.ID, "False", "x"), before), last: no, want: said(no, before)},
		"another answer":                   {written: question.String(), present: said(no, before), last: yes, want: said(yes, now)},
		"an earlier process answered":      {written: question.String(), present: said(yes, before), want: said(yes, before)},
		"an answer to the question before": {written: question.String(), present: said(other, before), last: no, want: said(no, now)},
		"a question that cannot be read is answered too": {written: `{"id":"q","groups":1}`, last: answer("q", "Unknown", "what?"), want: said(answer("q", "Unknown", "what?"), now)},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, 2, 2, 0)
			podGroup := seen.Gang.PodGroup
			podGroup.Annotations = map[string]string{scheduling.AnnotationSuccessors: test.written}
			if test.present != nil {
				podGroup.Status.Conditions = append(podGroup.Status.Conditions, *test.present)
			}
			seen.Successors = test.last
			desired := podgroupstatus.Of(seen, now)
			if diff := cmp.Diff(test.want, desired.SuccessorsFit); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			podGroup.Status = desired.Status()
			if desired.Differs(&podGroup.Status) {
				t.Error("what was written differs from what is to be")
			}
			podGroup.Status.Conditions = append(podGroup.Status.Conditions[:1], *said(answer("x", "False", "y"), before))
			if !desired.Differs(&podGroup.Status) {
				t.Error("another answer is as good")
			}
		})
	}
	seen := observed(t, 2, 2, 0)
	seen.Gang.PodGroup.Annotations = map[string]string{scheduling.AnnotationSuccessors: question.String()}
	seen.Successors = answer(question.ID, "False", strings.Repeat("long ", 2000))
	if length := len(podgroupstatus.Of(seen, now).SuccessorsFit.Message); length > 4096 {
		t.Errorf("the message has %d bytes", length)
	}
}
