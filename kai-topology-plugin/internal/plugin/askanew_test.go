package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/plans"
	"packtree.dev/kai-topology-plugin/internal/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var waitingGang = gang.Key{Namespace: "default", Name: "gang"}

// Nothing about the nodes changes, so that the last answer would hold for ever.
func TestAGangIsAskedForAnewWhenItsPodsTolerateMore(t *testing.T) {
	rig := startRig(t, 0)
	node := changed(tainted)
	node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2")
	if err := rig.kube.Tracker().Add(node); err != nil {
		t.Fatal(err)
	}
	before := decisions(t)
	rig.makePodGroup(t, "gang", 2)
	for _, name := range []string{"a", "b"} {
		rig.create(t, newPod("gang", name))
	}
	awaiting(t, "the gang to be decided", func() bool { return decisions(t) > before })
	for _, name := range []string{"a", "b"} {
		rig.patch(t, name, 1, `},"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}`)
	}
	rig.eventuallyAllBound(t, 2)
}

func TestWhichChangesOfAPodHaveItsGangAskedForAnew(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"a toleration": {func(pod *corev1.Pod) { pod.Spec.Tolerations = []corev1.Toleration{{Key: "k"}} }, true},
		"a label":      {func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "other"} }, true},
		"what it asks for": {func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		}, true},
		"a claim that was made for it": {func(pod *corev1.Pod) {
			pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}}
		}, true},
		"the scheduler's own note": {func(pod *corev1.Pod) { pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled}} }, false},
		"an annotation":            {func(pod *corev1.Pod) { pod.Annotations["seen"] = "now" }, false},
	} {
		old := newPod("gang", "a")
		pod := old.DeepCopy()
		test.change(pod)
		if got := asksElse(old, pod); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// refusedGang is a gang of two for which there is no room, and whose pod a was told so.
func refusedGang(t *testing.T, nodeCount int) (bench *bench, a, b *corev1.Pod) {
	t.Helper()
	a, b = newPod("gang", "a"), newPod("gang", "b")
	bench = newBench(t, nodes(nodeCount), []*corev1.Pod{a, b}, podGroup("gang", 2))
	if bench.ask(t, a) || bench.ask(t, b) {
		t.Fatal("the gang fits")
	}
	bench.activator.reset()
	return bench, a, b
}

func TestAGangIsNotForgottenWithThePodThatAskedForIt(t *testing.T) {
	deleted := metav1.Now()
	for name, change := range map[string]func(a, b *corev1.Pod) *corev1.Pod{
		"it is on its way out, held by a finalizer": func(a, _ *corev1.Pod) *corev1.Pod { a.DeletionTimestamp = &deleted; return a },
		"somebody else has bound it":                func(a, _ *corev1.Pod) *corev1.Pod { a.Spec.NodeName = "n0"; return a },
		"somebody else has bound its sibling":       func(_, b *corev1.Pod) *corev1.Pod { b.Spec.NodeName = "n0"; return b },
	} {
		t.Run(name, func(t *testing.T) {
			bench, a, b := refusedGang(t, 1)
			bench.plugin.podAppeared(change(a.DeepCopy(), b.DeepCopy()))
			if _, known := bench.plugin.verdicts.Asker(waitingGang); known || !bench.activator.called("a") || !bench.activator.called("b") {
				t.Errorf("somebody is to ask: %v; called: %v", known, bench.activator.pods)
			}
		})
	}
}

// The pods of a gang are read before it is decided, and the answer is remembered after. Here another gang, which may rank above
// this one or stand in its way, changes in between: nobody is to be told the answer again, but it is what was decided last, and
// no event may come that has the gang asked for once more.
func TestAnAnswerDuringWhichSomethingChangedIsToldInTheStatusButNotRepeated(t *testing.T) {
	bench, a, b := refusedGang(t, 1)
	answer := bench.plugin.verdicts.Last(waitingGang)
	doubtIfChanged := bench.plugin.remembering(waitingGang)
	bench.plugin.gangChanged(gang.Key{Namespace: "default", Name: "other"})
	bench.plugin.verdicts.Remember(waitingGang, 1, a.UID, answer)
	doubtIfChanged()

	if bench.plugin.verdicts.Current(waitingGang, 1) != nil || bench.plugin.verdicts.Repeat(waitingGang, 1, b.UID) != nil {
		t.Error("the answer is given again")
	}
	if asker, waits := bench.plugin.verdicts.Asker(waitingGang); !waits || asker != a.UID {
		t.Errorf("who asks for the gang is forgotten: %q", asker)
	}
	observed, err := bench.plugin.observe(waitingGang)
	if err != nil {
		t.Fatal(err)
	}
	condition := podgroupstatus.Of(observed, metav1.Now()).Condition
	if condition.Reason != scheduling.ReasonInfeasible || condition.Message != answer.Message {
		t.Errorf("the status says %s: %q; decided last was %s: %q", condition.Reason, condition.Message, answer.Verdict, answer.Message)
	}
}

func TestAGangDoesNotWaitForAVictimThatIsGoneAlready(t *testing.T) {
	bench, a, _ := refusedGang(t, 1)
	gone := newPod("", "gone")
	bench.plugin.clearings.Open(waitingGang, &plans.Clearing{Awaited: sets.New[types.UID](gone.UID)})
	bench.plugin.missed(&choice{awaited: []*corev1.Pod{gone, a}})
	if awaited, _, _ := bench.plugin.clearings.State(waitingGang); awaited != 0 || !bench.activator.called("a") {
		t.Errorf("it waits for %d pods; called: %v", awaited, bench.activator.pods)
	}
}

func TestAGangTriesAgainWhenOthersMayHaveBecomeVictims(t *testing.T) {
	pods, objects := rivals()
	for _, object := range objects {
		if podGroup, ok := object.(*scheduling.PodGroup); ok {
			podGroup.Spec.Preemptibility = scheduling.NonPreemptible
		}
	}
	bench := newBench(t, twoRacks(), pods, objects...)
	if bench.ask(t, pods[4]) || bench.plugin.makingRoomFor(pods[4]) {
		t.Fatal("there is room, or somebody leaves who must not")
	}
	bench.activator.reset()
	bench.plugin.victimsChanged(boss)
	if bench.activator.called("boss-0") {
		t.Error("the gang is woken by itself")
	}
	bench.plugin.victimsChanged(gang.Key{Namespace: "default", Name: "first"})
	if !bench.activator.called("boss-0") {
		t.Error("the gang is not woken")
	}
}

func TestTheStatusOfAGangIsWrittenForOneProfile(t *testing.T) {
	all := &profiles{}
	all.add("second")
	all.add("first")
	of := func(schedulers ...string) (pods []*corev1.Pod) {
		for _, name := range schedulers {
			pods = append(pods, &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: name}})
		}
		return pods
	}
	for _, test := range []struct {
		pods []*corev1.Pod
		want string
	}{{of("second"), "second"}, {of("first", "foreign"), "first"}, {of("second", "first"), "first"}, {nil, "first"}, {of("foreign"), "first"}} {
		for _, name := range []string{"first", "second"} {
			if speaks := all.speaksFor(name, test.pods); speaks != (name == test.want) {
				t.Errorf("profile %s tells of the gang: %v", name, speaks)
			}
		}
	}
}

// No pod of the plan stands yet, so that no pod leaves a node when the plan is given up.
func TestAGangThatWaitsIsAskedForAgainWhenRoomIsGivenBack(t *testing.T) {
	other := gang.Key{Namespace: "default", Name: "other"}
	for name, test := range map[string]struct{ take, giveBack func(*bench, *corev1.Pod) }{
		"that a plan had reserved": {
			func(b *bench, pod *corev1.Pod) {
				b.plugin.book.Open(other, 1, false, []plans.Placement{{Pod: pod, Node: "n0"}})
			},
			func(b *bench, _ *corev1.Pod) { b.plugin.breakPlan(other, metrics.GangChanged, "test") },
		},
		"by a gang that was refused by a node and has no place then": {
			func(b *bench, pod *corev1.Pod) {
				b.plugin.book.Open(other, 1, false, []plans.Placement{{Pod: pod, Node: "n0"}})
			},
			func(b *bench, pod *corev1.Pod) {
				b.plugin.refused(t.Context(), planned{gang: other, generation: 1, node: "n0"}, pod, framework.NewDefaultNodeToStatus())
				if b.activator.called("a") {
					t.Error("others are called before the gang has planned anew")
				}
				if b.ask(t, pod) {
					t.Fatal("the gang fits")
				}
			},
		},
		"that was being made for another": {
			func(b *bench, pod *corev1.Pod) {
				b.plugin.clearings.Open(other, &plans.Clearing{Placements: []plans.Placement{{Pod: pod, Node: "n0"}}})
			},
			func(b *bench, _ *corev1.Pod) { b.plugin.giveUp(t.Context(), other) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, c := newPod("gang", "a"), newPod("gang", "b"), newPod("other", "c")
			more := []*corev1.Pod{a, b, c, newPod("other", "d"), newPod("other", "e")}
			bench := newBench(t, nodes(2), more, podGroup("gang", 2), podGroup("other", 3))
			test.take(bench, c)
			if bench.ask(t, a) {
				t.Fatal("the gang is given room that another has")
			}
			bench.activator.reset()
			test.giveBack(bench, c)
			if !bench.activator.called("a") {
				t.Fatal("the pod that asks for the gang is not called")
			}
			if !bench.ask(t, a) {
				t.Error("the gang is told the old answer")
			}
		})
	}
}

func TestAPodThatGoesWhileItIsPutOnItsNodeIsNotCounted(t *testing.T) {
	a, gone := newPod("gang", "a"), newPod("gang", "gone")
	bench := newBench(t, nodes(2), []*corev1.Pod{a}, podGroup("gang", 2))
	bench.plugin.book.Open(waitingGang, 1, false, []plans.Placement{{Pod: gone, Node: "n0"}})
	if status := bench.plugin.Reserve(t.Context(), framework.NewCycleState(), gone, "n0"); !status.IsSuccess() {
		t.Fatal(status)
	}
	bench.plugin.Unreserve(t.Context(), framework.NewCycleState(), gone, "n0")
	if reason, err := bench.plugin.reasonToHold(waitingGang, a); err != nil || reason == "" {
		t.Errorf("a gang of two of which one pod exists is not held: %q, %v", reason, err)
	}
}
