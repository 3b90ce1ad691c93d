package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// twoRacks are racks r and s with two nodes each; each node has room for one pod.
func twoRacks() []*corev1.Node {
	all := newNodes(4)
	for _, node := range all[2:] {
		node.Labels["rack"] = "s"
	}
	return all
}

func inOneRack(podGroup *scheduling.PodGroup) *scheduling.PodGroup {
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "racks", RequiredTopologyLevel: "rack"}
	return podGroup
}

func ranked(priority int32, node string, pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Priority, pod.Spec.NodeName = &priority, node
	return pod
}

// rivals are two gangs that fill a rack each, and a more important one that needs a rack.
func rivals() (pods []*corev1.Pod, objects []kruntime.Object) {
	pods = []*corev1.Pod{
		ranked(1, "n0", newPod("first", "first-0")), ranked(1, "n1", newPod("first", "first-1")),
		ranked(2, "n2", newPod("second", "second-0")), ranked(2, "n3", newPod("second", "second-1")),
		ranked(9, "", newPod("boss", "boss-0")), ranked(9, "", newPod("boss", "boss-1")),
	}
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "racks"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	return pods, []kruntime.Object{topology, podGroup("first", 2), podGroup("second", 2), inOneRack(podGroup("boss", 2))}
}

// ask takes a pod through PreFilter and, if it is turned away there, PostFilter.
func (b *bench) ask(t *testing.T, pod *corev1.Pod) (planned bool) {
	t.Helper()
	state := framework.NewCycleState()
	_, status, _ := b.RunPreFilterPlugins(t.Context(), state, pod)
	if status.IsSuccess() {
		return true
	}
	_, status = b.RunPostFilterPlugins(t.Context(), state, pod, framework.NewDefaultNodeToStatus())
	require.NotEqual(t, fwk.Error, status.Code(), "%v", status.AsError())
	return false
}

// names are the pods that the API server has.
func (b *bench) names(t *testing.T) map[string]bool {
	t.Helper()
	pods, err := b.ClientSet().CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	names := map[string]bool{}
	for _, pod := range pods.Items {
		names[pod.Name] = true
	}
	return names
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return condition(), nil })
	require.NoError(t, err, "%s", what)
}

var boss = gang.Key{Namespace: "default", Name: "boss"}

// TestWhereverASchedulerDiesTheNextOneFinishesTheSameRack lets every write from the nth on fail, for each n, and then
// starts another scheduler on what is left. From the nominations on, the other rack has become the cheaper one.
func TestWhereverASchedulerDiesTheNextOneFinishesTheSameRack(t *testing.T) {
	const writes = 6 // Two nominations, and for two victims a condition and a deletion each.
	for failing := range writes + 1 {
		t.Run(fmt.Sprintf("after %d writes", failing), func(t *testing.T) {
			pods, objects := rivals()
			first := newBench(t, twoRacks(), pods, objects...)
			var count atomic.Int32
			refuse := func(clienttesting.Action) (bool, kruntime.Object, error) {
				if count.Add(1) > int32(failing) {
					return true, nil, errors.New("the scheduler is dead")
				}
				return false, nil, nil
			}
			client := first.ClientSet().(*fake.Clientset)
			client.PrependReactor("patch", "pods", refuse)
			client.PrependReactor("delete", "pods", refuse)
			require.False(t, first.ask(t, pods[4]), "the gang is planned without room")
			eventually(t, "the first scheduler is done", func() bool {
				return !first.plugin.gangs.View(boss).Preempts || count.Load() >= writes
			})

			left, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			var remaining []*corev1.Pod
			for i := range left.Items {
				remaining = append(remaining, &left.Items[i])
				if begun := failing > 2; begun && strings.HasPrefix(left.Items[i].Name, "second") {
					left.Items[i].Spec.Priority = ptr.To[int32](0)
				}
			}
			second := newBench(t, twoRacks(), remaining, objects...)
			second.ask(t, remaining[0])
			eventually(t, "the rack is cleared", func() bool {
				names := second.names(t)
				return !names["first-0"] && !names["first-1"]
			})
			want := map[string]bool{"second-0": true, "second-1": true, "boss-0": true, "boss-1": true}
			assert.Empty(t, cmp.Diff(want, second.names(t)), "pods that are left (-want +got)")
		})
	}
}

func TestRoomIsHeldWhileItIsMade(t *testing.T) {
	pods, objects := rivals()
	bench := newBench(t, twoRacks(), pods, objects...)
	bench.ask(t, pods[4])
	for _, test := range []struct {
		gang     string
		priority int32
		want     int
	}{{"an equal", 9, 2}, {"somebody above", 10, 0}} {
		held := 0
		for _, pods := range bench.plugin.gangs.Reserved(gang.Rank{Priority: test.priority}, nil).Room {
			held += len(pods)
		}
		assert.Equal(t, test.want, held, "%s has to respect %d pods, want %d", test.gang, held, test.want)
	}
	answer := bench.plugin.gangs.View(boss).Last
	assert.Equal(t, scheduling.ReasonWaiting, answer.Verdict)
	assert.Equal(t, "room is being made in rack r: waiting for 2 pods of default/first to terminate", answer.Message)
	eventually(t, "the victims are gone, and the gang is called", func() bool {
		return bench.plugin.gangs.View(boss).Preempts && bench.activator.called("boss-0")
	})
	bench.changes(t, boss)
	assert.False(t, bench.plugin.gangs.View(boss).Preempts, "a gang that is changed keeps the room")
}

// Victims are searched for a gang as it was read, while it may be deleted.
func TestNoVictimsForADeletedGang(t *testing.T) {
	pods, objects := rivals()
	bench := newBench(t, twoRacks(), pods, objects...)
	asked := bench.read(t, boss, pods[4])
	client := bench.ClientSet().CoreV1().Pods("default")
	for _, pod := range pods[4:] {
		require.NoError(t, client.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
	}
	podGroups := bench.objects.SchedulingV2alpha2().PodGroups("default")
	require.NoError(t, podGroups.Delete(t.Context(), boss.Name, metav1.DeleteOptions{}))
	eventually(t, "word of it has come", func() bool {
		_, err := bench.plugin.lister.PodGroup(boss)
		return err != nil && bench.plugin.lister.IsGone(pods[4]) && bench.plugin.lister.IsGone(pods[5])
	})
	bench.activator.reset()
	require.NoError(t,
		bench.plugin.preempt(t.Context(), asked, wanted{[]*gang.Gang{asked.Gang}, preemption.CandidatesFor}))
	kept := bench.plugin.gangs.Reserved(gang.Rank{Priority: math.MinInt32}, nil).Room
	assert.False(t, bench.plugin.gangs.View(boss).Preempts, "room is kept for it")
	assert.Empty(t, kept, "room is kept for it")
	assert.True(t, bench.activator.called("boss-0"), "the pod for which others were looked for does not ask again")
	var victims []preemption.Preempted
	for _, pod := range pods[:2] {
		victims = append(victims, preemption.Preempted{Pod: pod})
	}
	eviction := eviction{Choice: &preemption.Choice{Victims: victims}, gang: asked.Gang}
	require.NoError(t, bench.plugin.effects.evictAll(t.Context(), eviction))
	want := map[string]bool{"first-0": true, "first-1": true, "second-0": true, "second-1": true}
	assert.Empty(t, cmp.Diff(want, bench.names(t)), "pods that are left (-want +got)")
}

// The nodes of a cycle do not show yet that a victim is on its way out, and nothing wakes the gang when they do.
func TestAVictimThatIsOnItsWayOutIsWaitedForLikeTheOthers(t *testing.T) {
	pods, objects := rivals()
	bench := newBench(t, twoRacks(), pods, objects...)
	leaving := pods[0].DeepCopy()
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/hold"}
	_, err := bench.ClientSet().CoreV1().Pods("default").Update(t.Context(), leaving, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, "word of it has come", func() bool {
		pod, err := bench.plugin.lister.Pods.Pods("default").Get("first-0")
		return err == nil && pod.DeletionTimestamp != nil
	})
	require.False(t, bench.ask(t, pods[4]), "no room is made")
	require.True(t, bench.plugin.gangs.View(boss).Preempts, "no room is made")
	want := map[string]bool{"first-0": true, "second-0": true, "second-1": true, "boss-0": true, "boss-1": true}
	eventually(t, "the other victim is gone", func() bool { return cmp.Equal(want, bench.names(t)) })
}

// A trial shows the nodes without possible victims. Other gangs must not see a change.
func TestATrialOfVictimsVoidsNoAnswer(t *testing.T) {
	pods, objects := rivals()
	low := ranked(0, "", newPod("low", "low-0"))
	bench := newBench(t, twoRacks(), append(pods, low), append(objects, podGroup("low", 1))...)
	key := gang.Key{Namespace: "default", Name: "low"}
	require.False(t, bench.ask(t, low), "there is room")
	answer := bench.plugin.gangs.View(key).Last
	require.False(t, bench.ask(t, pods[4]), "nobody leaves for the important gang")
	require.True(t, bench.plugin.gangs.View(boss).Preempts, "nobody leaves for the important gang")
	assert.False(t, bench.ask(t, low), "the gang was searched for once more")
	assert.Same(t, answer, bench.plugin.gangs.View(key).Last, "the gang was searched for once more")
}

// A question is asked about decided gangs, and about gangs that would fit with victims.
func TestAQuestionLeavesNominationsAlone(t *testing.T) {
	young, first := askingCPU("young", "young", "100m"), askingCPU("first", "first", "1")
	bench := newBench(t, newNodes(1), []*corev1.Pod{young, first}, created("young", 0), created("first", 10))
	told, err := framework.NewPodInfo(first)
	require.NoError(t, err)
	bench.AddNominatedPod(klog.Background(), told,
		&fwk.NominatingInfo{NominatedNodeName: "n0", NominatingMode: fwk.ModeOverride})
	all, err := bench.SnapshotSharedLister().NodeInfos().List()
	require.NoError(t, err)
	_, stale, err := bench.plugin.ask(bench.read(t, youngGang, young).Gang, nil, all)
	if err != nil || len(stale) != 1 || len(bench.NominatedPodsForNode("n0")) != 1 {
		t.Fatalf("stale are %d nominations, and left %d: %v", len(stale), len(bench.NominatedPodsForNode("n0")), err)
	}
	if bench.schedule(t, young); len(bench.NominatedPodsForNode("n0")) != 0 {
		t.Error("its decision leaves what does not count any more")
	}
}

func TestAGangThatMustNotPreemptWaits(t *testing.T) {
	pods, objects := rivals()
	pods[5].Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
	bench := newBench(t, twoRacks(), pods, objects...)
	bench.ask(t, pods[4])
	assert.False(t, bench.plugin.gangs.View(boss).Preempts, "others leave for it")
	assert.Len(t, bench.names(t), len(pods), "others leave for it")
	answer := bench.plugin.gangs.View(boss).Last
	assert.Equal(t, scheduling.ReasonInfeasible, answer.Verdict, "the gang is told %s: %s", answer.Verdict, answer.Message)
}

func TestNoVictimsForAGangThatFiltersKeepOut(t *testing.T) {
	pods, objects := rivals()
	for _, pod := range pods[4:] {
		pod.Spec.NodeSelector = map[string]string{"rack": "elsewhere"}
	}
	bench := newBench(t, twoRacks(), pods, objects...)
	bench.ask(t, pods[4])
	assert.False(t, bench.plugin.gangs.View(boss).Preempts, "others leave for it")
	assert.Len(t, bench.names(t), len(pods), "others leave for it")
}

func TestANodeThatAPodWasToldBeforeARestartIsLeftAlone(t *testing.T) {
	told, other := ranked(5, "", newPod("told", "told-0")), ranked(5, "", newPod("other", "other-0"))
	told.Status.NominatedNodeName = "n0"
	bench := newBench(t, newNodes(1), []*corev1.Pod{told, other}, podGroup("told", 1), podGroup("other", 1))
	info, err := framework.NewPodInfo(told)
	require.NoError(t, err)
	bench.AddNominatedPod(klog.Background(), info, nil)
	assert.False(t, bench.ask(t, other), "another gang of the same priority gets the node")
	assert.True(t, bench.ask(t, told), "the gang does not get the node itself")
}
