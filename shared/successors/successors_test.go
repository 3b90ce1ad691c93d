package successors_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

func podWith(cpu string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "x:1",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(
			cpu)}},
	}}}}
}

func group(leaf, cpu string, pods ...string) successors.Group {
	return successors.Group{PodGroup: "g", SubGroup: leaf, Pods: pods, Template: successors.TemplateOf(podWith(cpu))}
}

func asked(t *testing.T, groups ...successors.Group) successors.Question {
	t.Helper()
	question, err := successors.New(groups, metav1.NewTime(time.Unix(1_800_000_000, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return question
}

// parsed is a question after it was stored in the API server.
func parsed(t *testing.T, question successors.Question) *successors.Question {
	t.Helper()
	read, err := successors.Parse(map[string]string{scheduling.AnnotationSuccessors: question.String()})
	if err != nil || read == nil {
		t.Fatal(read, err)
	}
	return read
}

func TestTheIDIsThatOfWhatIsAsked(t *testing.T) {
	first := asked(t, group("a", "1000m", "p", "q"), group("b", "1", "r"))
	later, err := successors.New([]successors.Group{group("b", "1", "r"), group("a", "1", "q", "p")}, metav1.Now())
	if err != nil {
		t.Fatal(err)
	}
	if first.ID != later.ID {
		t.Errorf("the same question in another order, at another time and in other words has the ID %s, not %s",
			later.ID, first.ID)
	}
	for name, other := range map[string]successors.Question{
		"another pod":      asked(t, group("a", "1", "p", "s"), group("b", "1", "r")),
		"a pod more":       asked(t, group("a", "1", "p", "q", "s"), group("b", "1", "r")),
		"another request":  asked(t, group("a", "2", "p", "q"), group("b", "1", "r")),
		"another leaf":     asked(t, group("c", "1", "p", "q"), group("b", "1", "r")),
		"one leaf is less": asked(t, group("a", "1", "p", "q")),
	} {
		if other.ID == first.ID {
			t.Errorf("%s: the ID stays", name)
		}
	}
	if read := parsed(t, first); read.ID != first.ID || !read.Asked.Equal(&first.Asked) || !read.Covers(&first) ||
		!first.Covers(read) {
		t.Errorf("written and read, the question is %+v", read)
	}
}

func TestAQuestionCoversAPartOfItself(t *testing.T) {
	whole := parsed(t, asked(t, group("a", "1", "p", "q"), group("b", "1", "r")))
	for name, c := range map[string]struct {
		other successors.Question
		want  bool
	}{
		"all of it":           {asked(t, group("a", "1", "p", "q"), group("b", "1", "r")), true},
		"a pod":               {asked(t, group("a", "1", "q")), true},
		"one of each":         {asked(t, group("a", "1", "p"), group("b", "1", "r")), true},
		"a pod beside it":     {asked(t, group("a", "1", "q", "s")), false},
		"a larger successor":  {asked(t, group("a", "2", "q")), false},
		"a pod of a leaf":     {asked(t, group("b", "1", "q")), false},
		"a leaf more than it": {asked(t, group("a", "1", "q"), group("c", "1", "s")), false},
		"a pod that is added": {asked(t, added("a", 1)), false},
	} {
		if got := whole.Covers(&c.other); got != c.want {
			t.Errorf("%s: covered: %t, want %t", name, got, c.want)
		}
	}
}

// added are pods that are added to a leaf.
func added(leaf string, pods int32) successors.Group {
	made := group(leaf, "1")
	made.Added = pods
	return made
}

func TestAddedPodsAreAskedAbout(t *testing.T) {
	question := parsed(t, asked(t, added("a", 2), group("b", "1", "r")))
	if !question.Adds() || question.Groups[0].Added != 2 {
		t.Errorf("written and read, the question is %+v", question)
	}
	fewer, more, none := asked(t, added("a", 1)), asked(t, added("a", 3)), asked(t, group("b", "1", "r"))
	if none.Adds() || !question.Covers(&fewer) || !question.Covers(&none) || question.Covers(&more) {
		t.Error("a question about two pods that are added covers one of them, none of them, and not three")
	}
	if fewer.ID == more.ID {
		t.Error("another number of pods that are added is the same question")
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	pods := make([]string, 3000)
	for i := range pods {
		pods[i] = strings.Repeat("p", 60)
	}
	if _, err := successors.New([]successors.Group{group("a", "1", pods...)}, metav1.Now()); err == nil {
		t.Error("a question that no annotation holds is asked")
	}
	if question, err := successors.Parse(nil); question != nil || err != nil {
		t.Errorf("nobody asks, and %v, %v is read", question, err)
	}
	broken := map[string]string{scheduling.AnnotationSuccessors: `{"id":"abc","groups":7}`}
	if question, err := successors.Parse(broken); err == nil || question.ID != "abc" {
		t.Errorf("of a question that cannot be read %+v, %v is read", question, err)
	}
	if question, err := successors.Parse(map[string]string{scheduling.AnnotationSuccessors: "{"}); err == nil ||
		question.ID != "" {
		t.Errorf("of no JSON %+v, %v is read", question, err)
	}
}

func TestAnAnswerIsReadAsItWasWritten(t *testing.T) {
	for _, answer := range []successors.Answer{
		{ID: "a1", Fits: metav1.ConditionTrue, Reason: scheduling.ReasonRoomForAll, Sentence: "each would have a node"},
		{ID: "a1", Fits: metav1.ConditionFalse, Reason: scheduling.ReasonInfeasible,
			Sentence: "short of 2 cpu: in z1/r1: none"},
		{},
	} {
		var conditions []metav1.Condition
		if answer.ID != "" {
			conditions = []metav1.Condition{{Type: "Other", Message: "b2: no"}, answer.Condition()}
		}
		if got := successors.AnswerIn(conditions); got != answer {
			t.Errorf("%+v is read as %+v", answer, got)
		}
	}
}

func TestATemplateIsWhatAFilterLooksAt(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		made := podWith("1")
		made.Labels = map[string]string{"a": "b"}
		made.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "y:1"}}
		change(made)
		return made
	}
	id := func(change func(*corev1.Pod)) string {
		return asked(t, successors.Group{PodGroup: "g", Pods: []string{"p"},
			Template: successors.TemplateOf(pod(change))}).ID
	}
	plain := id(func(*corev1.Pod) {})
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		asks   bool
	}{
		"its image":       {change: func(p *corev1.Pod) { p.Spec.Containers[0].Image = "x:2" }},
		"its environment": {change: func(p *corev1.Pod) { p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "E"}} }},
		"its annotations": {change: func(p *corev1.Pod) { p.Annotations = map[string]string{"c": "d"} }},
		"its name":        {change: func(p *corev1.Pod) { p.Name, p.Spec.Hostname = "n", "h" }},
		"a port of its IP": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}} },
		},
		"a gate": {change: func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }},
		"a limit beside the request": {change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		}},
		"a limit without a request": {asks: true, change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}
		}},
		"its labels": {asks: true, change: func(p *corev1.Pod) { p.Labels["a"] = "c" }},
		"its selector": {asks: true, change: func(
			p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"gpu": "h100"}
		}},
		"a toleration": {asks: true, change: func(
			p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
		}},
		"a port of its node": {asks: true, change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}},
		"a port on the network of its node": {asks: true, change: func(p *corev1.Pod) {
			p.Spec.HostNetwork, p.Spec.Containers[0].Ports = true, []corev1.ContainerPort{{ContainerPort: 80}}
		}},
		"a sidecar": {asks: true, change: func(p *corev1.Pod) { p.Spec.InitContainers[0].RestartPolicy = &always }},
		"its overhead": {asks: true,
			change: func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1")} }},
	} {
		if changed := id(c.change) != plain; changed != c.asks {
			t.Errorf("%s: another question: %t, want %t", name, changed, c.asks)
		}
	}
}
