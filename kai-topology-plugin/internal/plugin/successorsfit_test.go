package plugin

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

func askingFor(t *testing.T, pods ...string) *scheduling.PodGroup {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g"}}
	if len(pods) == 0 {
		return podGroup
	}
	question, err := successors.New([]successors.Group{{PodGroup: "g", Pods: pods}}, metav1.Time{})
	if err != nil {
		t.Fatal(err)
	}
	podGroup.Annotations = map[string]string{scheduling.AnnotationSuccessors: question.String()}
	return podGroup
}

// oneAsks are questions of the one PodGroup that there is; nil if there is none.
type oneAsks struct {
	*questions
	podGroup *scheduling.PodGroup
}

func (q *oneAsks) sees(podGroup *scheduling.PodGroup) {
	q.podGroupSeen(q.podGroup, podGroup)
	q.podGroup = podGroup
}

func (q *oneAsks) begins(t *testing.T) map[gang.Key]asked {
	t.Helper()
	asked, err := q.begin(func() (all []*scheduling.PodGroup, _ error) {
		if q.podGroup != nil {
			all = append(all, q.podGroup)
		}
		return all, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

func TestWhenQuestionsAreAnswered(t *testing.T) {
	const never = time.Duration(-1)
	start := time.Unix(1_800_000_000, 0)
	type step func(q *oneAsks)
	seen := func(pods ...string) step { return func(q *oneAsks) { q.sees(askingFor(t, pods...)) } }
	gone := func(q *oneAsks) { q.podGroup = nil }
	changed := func(q *oneAsks) { q.clusterChanged() }
	answered := func(took time.Duration) step {
		return func(q *oneAsks) {
			q.begins(t)
			q.end(start.Add(-took), start, false)
		}
	}
	failed := func(q *oneAsks) {
		q.begins(t)
		q.end(start, start, true)
	}
	for name, c := range map[string]struct {
		steps []step
		want  time.Duration
	}{
		"nobody asks":                   {want: never},
		"nobody asks, whatever happens": {steps: []step{seen(), changed}, want: never},
		"somebody asks":                 {steps: []step{seen("p")}},
		"it is answered":                {steps: []step{seen("p"), answered(time.Second)}, want: never},
		"the same is asked again":       {steps: []step{seen("p"), answered(time.Second), seen("p")}, want: never},
		"another is asked after a long answer": {steps: []step{seen("p"), answered(time.Second), seen("q")},
			want: time.Second},
		"the cluster changes after a short answer": {steps: []step{seen("p"), answered(time.Millisecond), changed},
			want: time.Second},
		"the cluster changes after a long answer": {steps: []step{seen("p"), answered(time.Second), changed},
			want: 9 * time.Second},
		"both": {steps: []step{seen("p"), answered(time.Second), changed, seen("q")}, want: time.Second},
		"it is withdrawn": {steps: []step{seen("p"), answered(0), seen(), changed, answered(0), changed},
			want: never},
		"its PodGroup is gone": {steps: []step{seen("p"), answered(0), gone, changed, answered(0), changed},
			want: never},
		"an answer that failed": {steps: []step{seen("p"), failed}, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			q := &oneAsks{questions: newQuestions()}
			for _, step := range c.steps {
				step(q)
			}
			wait, due := q.due(start)
			if !due {
				wait = never
			}
			if wait != c.want {
				t.Errorf("answered in %s, want %s", wait, c.want)
			}
			if _, due := q.due(start.Add(c.want)); due != (c.want != never) {
				t.Errorf("after that time it is due: %t", due)
			}
		})
	}
}

func TestQuestionsWakeWhoAnswersThem(t *testing.T) {
	q := &oneAsks{questions: newQuestions()}
	for _, happens := range []func(){
		func() { q.sees(askingFor(t, "p")) },
		q.clusterChanged,
	} {
		happens()
		select {
		case <-q.wake:
		default:
			t.Error("nobody is woken")
		}
		happens() // Nobody waits, though nobody listens.
		q.begins(t)
	}
}

func TestAQuestionThatCannotBeReadIsToldSo(t *testing.T) {
	podGroup := askingFor(t)
	podGroup.Annotations = map[string]string{scheduling.AnnotationSuccessors: `{"id": "a", "groups": 7}`}
	q := &oneAsks{questions: newQuestions()}
	q.sees(podGroup)
	if asked := q.begins(t)[gang.KeyOfPodGroup(podGroup)]; asked.ID != "a" || asked.unread == nil {
		t.Errorf("%v, %v", asked.Question, asked.unread)
	}
}
