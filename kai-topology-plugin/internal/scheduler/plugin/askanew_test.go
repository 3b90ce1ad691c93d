package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var waitingGang = gang.Key{Namespace: "default", Name: "gang"}

// Nothing about the nodes changes, so that the last answer would hold for ever.
func TestAGangIsAskedForAnewWhenItsPodsTolerateMore(t *testing.T) {
	rig := startRig(t, 0)
	node := changed(tainted)
	node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2")
	require.NoError(t, rig.kube.Tracker().Add(node))
	before := decisions(t)
	rig.makePodGroup(t, podGroup("gang", 2))
	for _, name := range []string{"a", "b"} {
		rig.create(t, newPod("gang", name))
	}
	awaiting(t, "the gang to be decided", func() bool { return decisions(t) > before })
	for _, name := range []string{"a", "b"} {
		rig.patch(t, name, 1, `},"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}`)
	}
	rig.eventuallyAllBound(t, 2)
}

// refusedGang is a gang of two that does not fit; its pod a has that answer.
func refusedGang(t *testing.T, nodeCount int) (bench *bench, a, b *corev1.Pod) {
	t.Helper()
	a, b = newPod("gang", "a"), newPod("gang", "b")
	bench = newBench(t, newNodes(nodeCount), []*corev1.Pod{a, b}, podGroup("gang", 2))
	require.False(t, bench.ask(t, a), "the gang fits")
	require.False(t, bench.ask(t, b), "the gang fits")
	bench.activator.reset()
	return bench, a, b
}

// changes has word come that the PodGroup of a gang was changed.
func (b *bench) changes(t *testing.T, key gang.Key) {
	t.Helper()
	before, err := b.plugin.lister.PodGroup(key)
	require.NoError(t, err)
	after := before.DeepCopy()
	after.Generation++
	b.plugin.effects.do(b.plugin.gangs.PodGroupChanged(before, after, time.Now()))
}

func TestAGangIsNotForgottenWithThePodThatAskedForIt(t *testing.T) {
	deleted := metav1.Now()
	for name, change := range map[string]func(a, b *corev1.Pod) *corev1.Pod{
		"it is on its way out, held by a finalizer": func(a, _ *corev1.Pod) *corev1.Pod {
			a.DeletionTimestamp = &deleted
			return a
		},
		"somebody else has bound it":          func(a, _ *corev1.Pod) *corev1.Pod { a.Spec.NodeName = "n0"; return a },
		"somebody else has bound its sibling": func(_, b *corev1.Pod) *corev1.Pod { b.Spec.NodeName = "n0"; return b },
	} {
		t.Run(name, func(t *testing.T) {
			bench, a, b := refusedGang(t, 1)
			bench.plugin.effects.do(bench.plugin.gangs.PodChanged(nil, change(a.DeepCopy(), b.DeepCopy()), time.Now()))
			known := !bench.waiting(b).Asks()
			if known || !bench.activator.called("a") || bench.activator.called("b") == strings.Contains(name, "sibling") {
				t.Errorf("somebody is to ask: %v; called: %v", known, bench.activator.pods)
			}
		})
	}
}

// The pods of a gang are read before it is decided, and the answer is remembered afterwards. Here the gang changes in
// between: the answer is not given again, but it is the last decision, and no event may come that asks for the gang
// once more.
func TestAnAnswerDuringWhichTheGangChangedIsToldInTheStatusButNotRepeated(t *testing.T) {
	bench, a, b := refusedGang(t, 1)
	answer := bench.plugin.gangs.View(waitingGang).Last
	asked := bench.read(t, waitingGang, a)
	bench.changes(t, waitingGang)
	bench.plugin.refuse(asked, answer)

	reply, _ := bench.plugin.gangs.Ask(waitingGang, asked.version, b.UID)
	assert.Nil(t, bench.plugin.gangs.View(waitingGang).Current(asked.version), "the answer is given again")
	assert.Equal(t, gangstate.Reply{}, reply, "the answer is given again")
	assert.True(t, bench.waiting(a).Asks(), "who asks for the gang is forgotten")
	assert.False(t, bench.waiting(b).Asks(), "who asks for the gang is forgotten")
	observed, err := bench.plugin.observe(waitingGang)
	require.NoError(t, err)
	condition := podgroupstatus.Of(observed, metav1.Now()).Condition
	if condition.Reason != scheduling.ReasonInfeasible || condition.Message != answer.Message {
		t.Errorf("the status says %s: %q; decided last was %s: %q", condition.Reason, condition.Message, answer.Verdict,
			answer.Message)
	}
}

func TestAGangDoesNotWaitForAVictimThatIsGoneAlready(t *testing.T) {
	bench, a, _ := refusedGang(t, 1)
	gone := newPod("", "gone")
	bench.preemptFor(t, waitingGang, a, "n0", gone.UID)
	bench.activator.reset()
	bench.plugin.missed(gone, a)
	assert.True(t, bench.activator.called("a"), "it waits for a pod that is gone; called: %v", bench.activator.pods)
}

func TestAGangTriesAgainWhenOthersMayHaveBecomeVictims(t *testing.T) {
	pods, objects := rivals()
	for _, object := range objects {
		if podGroup, ok := object.(*scheduling.PodGroup); ok {
			podGroup.Spec.Preemptibility = scheduling.NonPreemptible
		}
	}
	bench := newBench(t, twoRacks(), pods, objects...)
	require.False(t, bench.ask(t, pods[4]), "there is room, or somebody leaves who must not")
	require.False(t, bench.plugin.gangs.View(boss).Preempts, "there is room, or somebody leaves who must not")
	bench.activator.reset()
	first, err := bench.plugin.lister.PodGroups.PodGroups("default").Get("first")
	require.NoError(t, err)
	changed := first.DeepCopy()
	changed.Annotations = map[string]string{"note": "x"}
	bench.plugin.podGroupHandler().OnUpdate(first, changed)
	assert.False(t, bench.activator.called("boss-0"), "the gang is woken by a note")
	changed.Generation++
	bench.plugin.podGroupHandler().OnUpdate(first, changed)
	assert.True(t, bench.activator.called("boss-0"), "the gang is not woken")
}

func TestTheStatusOfAGangIsWrittenForOneProfile(t *testing.T) {
	all := &profiles{}
	all.add("second", own{})
	all.add("first", own{})
	of := func(schedulers ...string) (pods []*corev1.Pod) {
		for _, name := range schedulers {
			pods = append(pods, &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: name}})
		}
		return pods
	}
	for _, test := range []struct {
		pods []*corev1.Pod
		want string
	}{{of("second"), "second"}, {of("first", "foreign"), "first"}, {of("second", "first"), "first"}, {nil, "first"},
		{of("foreign"), "first"}} {
		for _, name := range []string{"first", "second"} {
			assert.Equal(t, name == test.want, all.speaksFor(name, test.pods), "profile %s tells of the gang", name)
		}
	}
}

// No pod of the plan stands yet, so that no pod leaves a node when the plan is given up.
func TestAGangThatWaitsIsAskedForAgainWhenRoomIsGivenBack(t *testing.T) {
	other := gang.Key{Namespace: "default", Name: "other"}
	for name, test := range map[string]struct{ take, giveBack func(*bench, *corev1.Pod) }{
		"that a plan had reserved": {
			func(b *bench, pod *corev1.Pod) {
				b.planFor(t, other, pod, "n0")
			},
			func(b *bench, _ *corev1.Pod) {
				b.plugin.effects.do(b.plugin.gangs.Break(other, gangstate.GangChanged, "test"))
			},
		},
		"by a gang that was refused by a node and has no place then": {
			func(b *bench, pod *corev1.Pod) {
				b.planFor(t, other, pod, "n0")
			},
			func(b *bench, pod *corev1.Pod) {
				state := framework.NewCycleState()
				state.Write(plannedKey, planned{gang: other, version: b.read(t, other, nil).version, node: "n0"})
				b.plugin.PostFilter(t.Context(), state, pod, framework.NewDefaultNodeToStatus())
				assert.False(t, b.activator.called("a"), "others are called before the gang has planned anew")
				require.False(t, b.ask(t, pod), "the gang fits")
			},
		},
		"that was being made for another": {
			func(b *bench, pod *corev1.Pod) {
				b.preemptFor(t, other, pod, "n0")
			},
			func(b *bench, _ *corev1.Pod) { b.plugin.effects.do(b.plugin.gangs.EndPreemption(other)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, c := newPod("gang", "a"), newPod("gang", "b"), newPod("other", "c")
			more := []*corev1.Pod{a, b, c, newPod("other", "d"), newPod("other", "e")}
			bench := newBench(t, newNodes(2), more, podGroup("gang", 2), podGroup("other", 3))
			test.take(bench, c)
			require.False(t, bench.ask(t, a), "the gang is given room that another has")
			bench.activator.reset()
			test.giveBack(bench, c)
			require.True(t, bench.activator.called("a"), "the pod that asks for the gang is not called")
			assert.True(t, bench.ask(t, a), "the gang is told the old answer")
		})
	}
}

func TestAPodThatGoesWhileItIsPutOnItsNodeIsNotCounted(t *testing.T) {
	a, gone := newPod("gang", "a"), newPod("gang", "gone")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a}, podGroup("gang", 2))
	bench.planFor(t, waitingGang, gone, "n0")
	status := bench.plugin.Reserve(t.Context(), framework.NewCycleState(), gone, "n0")
	require.True(t, status.IsSuccess(), "%v", status)
	bench.plugin.Unreserve(t.Context(), framework.NewCycleState(), gone, "n0")
	assert.False(t, bench.plugin.PreEnqueue(t.Context(), a).IsSuccess(),
		"a gang of two of which one pod exists is not held")
}
