package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// bench is a set with the base gang s-0 of a clique a, and the scaled gang s-0-g-0 of copy 1 of a group of clique b.
type bench struct {
	*testing.T
	objects rollout.Objects
	now     time.Time
}

func newBench(t *testing.T) *bench {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 1
  template:
    cliques:
      - {name: a, spec: {replicas: 3, minAvailable: 1, podSpec: {containers: [{name: main, image: x}]}}}
      - {name: b, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: "2"}}}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, minAvailable: 1}]
`)
	podCliques := map[string]*grovev1alpha1.PodClique{}
	for _, member := range append(layout.Standalone(set, 0),
		layout.Copy(set, 0, &set.Spec.Template.PodCliqueScalingGroups[0], 1)...) {
		podCliques[member.Name] = children.PodClique(set, member, nil)
	}
	objects := rollout.Of(set, podCliques, nil)
	objects.DefaultScheduler = kai.SchedulerName
	objects.Gangs = map[string]*schedulerv1alpha1.PodGang{}
	for _, name := range []string{"s-0", "s-0-g-0"} {
		objects.Gangs[name] = &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return &bench{T: t, objects: objects, now: start.Time}
}

// pod is one of a PodClique, on a node unless that is empty.
func (b *bench) pod(podClique, name, node string) *corev1.Pod {
	found := b.objects.PodCliques[podClique]
	if found == nil {
		b.Fatalf("there is no PodClique %s", podClique)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		grovev1alpha1.LabelPodClique: podClique, grovev1alpha1.LabelPodGang: found.Labels[grovev1alpha1.LabelPodGang],
	}}}
	pod.Spec.NodeName = node
	return pod
}

// prove decides about pods that are to be deleted now, and writes the resulting question.
func (b *bench) prove(deleted ...*corev1.Pod) rollout.Decision {
	decision := b.objects.Prove(rollout.Decision{
		Delete: deleted, Of: "copy 1", Waiting: "copy 1 is being updated",
		Progress: &grovev1alpha1.PodCliqueSetUpdateProgress{},
	}, b.now)
	for name, written := range b.objects.Questions(decision) {
		b.objects.Gangs[name].Annotations = map[string]string{scheduling.AnnotationSuccessors: written}
		if written == "" {
			b.objects.Gangs[name].Annotations = nil
		}
	}
	return decision
}

// asked is the question of a PodGang, which must have one.
func (b *bench) asked(gang string) *successors.Question {
	b.Helper()
	question, err := successors.Parse(b.objects.Gangs[gang].Annotations)
	if err != nil || question == nil {
		b.Fatalf("%s asks %v, %v", gang, question, err)
	}
	return question
}

func (b *bench) answer(gang string, fits metav1.ConditionStatus) {
	b.Helper()
	answer := successors.Answer{ID: b.asked(gang).ID, Fits: fits, Reason: "R", Sentence: "no rack has room"}
	meta.SetStatusCondition(&b.objects.Gangs[gang].Status.Conditions, answer.Condition())
}

func deletes(decision rollout.Decision) string {
	var names []string
	for _, pod := range decision.Delete {
		names = append(names, pod.Name)
	}
	return strings.Join(names, " ")
}

func (b *bench) want(what string, decision rollout.Decision, deleted string, asks int) {
	b.Helper()
	if got := deletes(decision); got != deleted || len(decision.Ask) != asks {
		b.Errorf("%s: it deletes %q and asks %d, want %q and %d", what, got, len(decision.Ask), deleted, asks)
	}
}

func TestPodsOnNodesStayUntilTheirSuccessorsHaveRoom(t *testing.T) {
	b := newBench(t)
	old, waits := b.pod("s-0-a", "p1", "node"), b.pod("s-0-a", "p2", "")
	first := b.prove(old, waits)
	b.want("nobody was asked", first, "p2", 1)
	if first.Waiting != "copy 1 is being updated" || first.Held || !first.Recheck.Equal(b.now.Add(time.Minute)) {
		t.Errorf("while it asks: %+v", first)
	}
	b.now = b.now.Add(time.Second)
	again := b.prove(old)
	b.want("there is no answer", again, "", 1)
	if !again.Recheck.Equal(first.Recheck) {
		t.Errorf("the deadline moves from %s to %s", first.Recheck, again.Recheck)
	}
	b.answer("s-0", metav1.ConditionFalse)
	held := b.prove(old)
	b.want("the answer is no", held, "", 1)
	if !held.Held || held.Why != "no rack has room" || held.Waiting != "the successors of copy 1 would have no room" ||
		!held.Recheck.IsZero() {
		t.Errorf("it says %+v", held)
	}
	b.now = b.now.Add(time.Hour)
	b.want("the answer was no an hour ago", b.prove(old), "", 1)
	b.answer("s-0", metav1.ConditionTrue)
	b.want("the answer is yes", b.prove(old), "p1", 0)
	b.want("it is yes to this pod alone", b.prove(old, b.pod("s-0-a", "p3", "node")), "", 1)
	b.answer("s-0", metav1.ConditionTrue)
	b.want("of two, one has left since", b.prove(b.pod("s-0-a", "p3", "node")), "p3", 0)
	b.objects.PodCliques["s-0-a"].Spec.PodSpec.Containers[0].Resources.Requests = corev1.ResourceList{
		"cpu": resource.MustParse("9"),
	}
	b.want("the template has changed since", b.prove(b.pod("s-0-a", "p3", "node")), "", 1)
}

func TestWhatIsAsked(t *testing.T) {
	b := newBench(t)
	b.prove(b.pod("s-0-g-1-b", "q2", "m"), b.pod("s-0-a", "p1", "n"), b.pod("s-0-g-1-b", "q1", "n"))
	var got []string
	for _, group := range b.asked("s-0").Groups {
		gpus := group.Template.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
		got = append(got, fmt.Sprintf("%s %s %v %s GPUs, %s", group.PodGroup, group.SubGroup, group.Pods, gpus.String(),
			group.Template.Spec.SchedulerName))
	}
	want := []string{"s-0-g-0 s-0-g-1-b [q1 q2] 2 GPUs, kai-scheduler", "s-0 s-0-a [p1] 0 GPUs, kai-scheduler"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if b.objects.Gangs["s-0-g-0"].Annotations != nil {
		t.Error("the other gang asks too")
	}
}

func TestWhenNobodyIsAsked(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"there is no PodGang": func(b *bench) { b.objects.Gangs = nil },
		"another scheduler by name": func(b *bench) {
			b.objects.PodCliques["s-0-a"].Spec.PodSpec.SchedulerName = "volcano"
		},
		"another scheduler by itself": func(b *bench) { b.objects.DefaultScheduler = "" },
		"nobody but the operator says where pods are": func(b *bench) {
			b.objects.Gangs["s-0"].Status.Conditions = []metav1.Condition{
				{Type: "Scheduled", Status: "True", Reason: "MinimaOnNodes"},
			}
		},
		"the user does not wait": func(b *bench) {
			b.objects.Set.Annotations = map[string]string{"packtree.dev/update-without-room": "Replace"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			change(b)
			decision := b.prove(b.pod("s-0-a", "p1", "n"))
			b.want(name, decision, "p1", 0)
			if decision.Unproved != "" {
				t.Errorf("it says: %q", decision.Unproved)
			}
		})
	}
	b := newBench(t)
	b.want("pods on no node", b.prove(b.pod("s-0-a", "p1", "")), "p1", 0)
	b.prove(b.pod("s-0-a", "p1", "n"))
	b.answer("s-0", metav1.ConditionUnknown)
	b.want("the scheduler says that it does not answer", b.prove(b.pod("s-0-a", "p1", "n")), "p1", 0)
	var many []*corev1.Pod
	for i := range 3000 {
		many = append(many, b.pod("s-0-a", fmt.Sprint(strings.Repeat("p", 60), i), "n"))
	}
	if decision := b.prove(many...); len(decision.Delete) != len(many) || decision.Unproved == "" {
		t.Errorf("of more pods than a question holds %d are deleted: %q", len(decision.Delete), decision.Unproved)
	}
}

func TestWhoNeverAnswersIsWaitedForOnce(t *testing.T) {
	b := newBench(t)
	b.prove(b.pod("s-0-a", "p1", "n"))
	b.now = b.now.Add(time.Minute - time.Second)
	b.want("before the deadline", b.prove(b.pod("s-0-a", "p1", "n")), "", 1)
	b.now = b.now.Add(time.Second)
	overdue := b.prove(b.pod("s-0-a", "p1", "n"))
	b.want("at the deadline", overdue, "p1", 0)
	if overdue.Unproved != "copy 1: replaced without knowing whether what comes next has room: "+
		"nobody has answered for 1m0s" {
		t.Errorf("it says: %q", overdue.Unproved)
	}
	next := b.prove(b.pod("s-0-g-1-b", "q1", "n"))
	b.want("the next step, of another gang", next, "q1", 0)
	if next.Unproved != "" {
		t.Errorf("it says it again: %q", next.Unproved)
	}
	b.answer("s-0", metav1.ConditionTrue)
	b.want("somebody answers after all", b.prove(b.pod("s-0-g-1-b", "q2", "n")), "", 1)
	if b.objects.Gangs["s-0-g-0"].Annotations == nil {
		t.Error("nobody is asked")
	}
}

func TestQuestionsGoWithTheUpdate(t *testing.T) {
	ended := metav1.NewTime(start.Time)
	for name, c := range map[string]struct {
		progress *grovev1alpha1.PodCliqueSetUpdateProgress
		change   func(*grovev1alpha1.PodCliqueSet)
		want     bool
	}{
		"it goes on":          {progress: &grovev1alpha1.PodCliqueSetUpdateProgress{}},
		"it has ended":        {progress: &grovev1alpha1.PodCliqueSetUpdateProgress{UpdateEndedAt: &ended}, want: true},
		"nobody knows of one": {want: true},
		"the user takes it over": {progress: &grovev1alpha1.PodCliqueSetUpdateProgress{}, want: true,
			change: func(set *grovev1alpha1.PodCliqueSet) { set.Spec.UpdateStrategy.Type = grovev1alpha1.OnDelete }},
		"the user does not wait": {progress: &grovev1alpha1.PodCliqueSetUpdateProgress{}, want: true,
			change: func(set *grovev1alpha1.PodCliqueSet) {
				set.Annotations = map[string]string{"packtree.dev/update-without-room": "Replace"}
			}},
		"the user wants the same": {progress: &grovev1alpha1.PodCliqueSetUpdateProgress{},
			change: func(set *grovev1alpha1.PodCliqueSet) {
				set.Annotations = map[string]string{"packtree.dev/update-without-room": "Wait"}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.prove(b.pod("s-0-a", "p1", "n"))
			b.objects.Set.Spec.UpdateStrategy = &grovev1alpha1.PodCliqueSetUpdateStrategy{}
			if c.change != nil {
				c.change(b.objects.Set)
			}
			questions := b.objects.Questions(rollout.Decision{Progress: c.progress})
			if written, changed := questions["s-0"]; changed != c.want || written != "" || len(questions) > 1 {
				t.Errorf("%q is written", questions)
			}
		})
	}
}

func TestOfSeveralReplicasAllAsk(t *testing.T) {
	b := newBench(t)
	update := rollout.Begin(
		rollout.Situation{Before: recorded(0, 1), States: func() []rollout.State { return nil }, Now: start.Time})
	asks := b.prove(b.pod("s-0-a", "p1", "n"))
	b.prove(b.pod("s-0-g-1-b", "q1", "n"))
	b.answer("s-0-g-0", metav1.ConditionFalse)
	held := b.prove(b.pod("s-0-g-1-b", "q1", "n"))
	held.Replica = 1
	all := update.End([]rollout.Decision{asks, held})
	if len(all.Ask) != 2 || len(all.Delete) != 0 || !all.Recheck.Equal(asks.Recheck) || !all.Held || all.Replica != 1 ||
		!slices.Equal(all.Also, []int32{0}) {
		t.Errorf("together: %+v", all)
	}
}
