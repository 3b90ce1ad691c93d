package plugin

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// The backoff decides which pods are tried first after a failure. Rank decides which gang gets room that becomes free,
// whether the event that reports the room comes before the snapshot shows it or after.
func TestRoomThatBecomesFreeGoesToTheHigherRank(t *testing.T) {
	for name, when := range map[string]struct{ event, tried, left int }{
		"the event comes with the room":                         {event: 2, left: 1},
		"the event comes late":                                  {event: 3, left: 1},
		"the event comes early, and the older is tried in vain": {event: 1, tried: 2, left: 3},
	} {
		t.Run(name, func(t *testing.T) {
			old, young := podGroup("old", 1), podGroup("young", 1)
			old.CreationTimestamp, young.CreationTimestamp = metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
			first, second := newPod("old", "first"), newPod("young", "second")
			bench := newBench(t, newNodes(1), []*corev1.Pod{first, second}, old, young)
			taken := newPod("", "taken")
			taken.Spec.NodeName = "n0"
			infos, err := bench.SnapshotSharedLister().NodeInfos().List()
			require.NoError(t, err)
			info, err := framework.NewPodInfo(taken)
			require.NoError(t, err)
			infos[0].AddPodInfo(info)
			_, status := bench.schedule(t, first)
			require.False(t, status.IsSuccess(), "there is no room yet")
			for step := 1; step <= 3; step++ {
				switch step {
				case when.event:
					bench.plugin.podHandler().OnDelete(taken)
				case when.tried:
					_, status := bench.schedule(t, first)
					require.False(t, status.IsSuccess(), "there is no room to be seen yet")
				case when.left:
					require.NoError(t, infos[0].RemovePod(klog.Background(), taken))
				}
				if step == 2 && when.event == 3 || step == 3 && when.event < 3 {
					bench.activator.reset()
					_, status := bench.schedule(t, second)
					assert.False(t, status.IsSuccess(), "the younger gang was given the room")
				}
			}
			assert.True(t, bench.activator.called("first"), "the older gang's pod was not called")
			_, status = bench.schedule(t, first)
			assert.True(t, status.IsSuccess(), "the older gang: %s", status.Message())
		})
	}
}

// relabel has the snapshot show another label of its first node: another state of the room.
func (b *bench) relabel(t *testing.T) {
	t.Helper()
	infos, err := b.SnapshotSharedLister().NodeInfos().List()
	require.NoError(t, err)
	node := infos[0].Node().DeepCopy()
	node.Labels = map[string]string{"edition": node.Labels["edition"] + "+"}
	infos[0].(*framework.NodeInfo).SetNode(node)
}

// A gang that was tried since room became free has had its turn.
func TestAGangThatHadItsTurnHoldsUpNoOther(t *testing.T) {
	old, young := podGroup("old", 2), podGroup("young", 1)
	old.CreationTimestamp, young.CreationTimestamp = metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	pods := []*corev1.Pod{newPod("old", "a"), newPod("old", "b"), newPod("young", "c")}
	bench := newBench(t, newNodes(1), pods, old, young)
	_, status := bench.schedule(t, pods[0])
	require.False(t, status.IsSuccess(), "one node holds two pods")
	bench.relabel(t)
	_, status = bench.schedule(t, pods[2])
	assert.True(t, status.IsSuccess(), "held up: %s", status.Message())
}

// Room that is not kept any more is news for a gang that was turned down where it was kept, and for no other.
func TestRoomThatIsGivenBackWakesPodsThatWereKeptFromIt(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		woken bool
	}{
		"it would fit there":               {nodes: 2, woken: true},
		"nothing was kept when it did not": {nodes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{newPod("waits", "a"), newPod("waits", "b"), newPod("planned", "p")}
			bench := newBench(t, newNodes(test.nodes), pods, podGroup("waits", 2), podGroup("planned", 1))
			planned := gang.Key{Namespace: "default", Name: "planned"}
			if test.woken {
				bench.planFor(t, planned, pods[2], "n0")
			}
			_, status := bench.schedule(t, pods[0])
			require.False(t, status.IsSuccess(), "there is no room")
			bench.planFor(t, planned, pods[2], "n0")
			bench.activator.reset()
			bench.plugin.effects.do(bench.plugin.gangs.Break(planned, "", "test"))
			assert.Equal(t, test.woken, bench.activator.called("a"), "it is woken")
		})
	}
}

// While one cycle decides gangs, no other pod is scheduled.
func TestACycleDecidesAFewOfTheGangsThatRankHigher(t *testing.T) {
	const waiting = 3*maxAhead - 1
	objects, pods := []kruntime.Object{created("young", 0)}, []*corev1.Pod{newPod("young", "young")}
	for i := range waiting {
		old := created(fmt.Sprintf("old-%02d", i), 100)
		old.Spec.MinMember = ptr.To[int32](2)
		objects = append(objects, old)
		pods = append(pods, newPod(old.Name, old.Name+"-a"), newPod(old.Name, old.Name+"-b"))
	}
	bench := newBench(t, newNodes(1), pods, objects...)
	for _, pod := range pods[1:] {
		_, status := bench.schedule(t, pod)
		require.False(t, status.IsSuccess(), "one node holds two pods")
	}
	bench.relabel(t)
	for _, cycle := range []string{"first", "second"} {
		bench.activator.reset()
		if _, status := bench.schedule(t, pods[0]); status.IsSuccess() || !bench.activator.called("young") {
			t.Errorf("the %s cycle tries all, or the gang is not to come back: %v", cycle, status)
		}
	}
	_, status := bench.schedule(t, pods[0])
	assert.True(t, status.IsSuccess(), "all have been tried, and the gang is held up: %s", status.Message())
}

func TestAGangDoesNotYieldWithoutEnd(t *testing.T) {
	objects, pods := []kruntime.Object{created("young", 0)}, []*corev1.Pod{newPod("young", "young")}
	for i := range maxAhead + 1 {
		old := created(fmt.Sprintf("old-%02d", i), 100)
		old.Spec.MinMember = ptr.To[int32](2)
		objects = append(objects, old)
		pods = append(pods, newPod(old.Name, old.Name+"-a"), newPod(old.Name, old.Name+"-b"))
	}
	bench := newBench(t, newNodes(1), pods, objects...)
	for _, pod := range pods[1:] {
		bench.schedule(t, pod)
	}
	for range maxAhead + 2 {
		bench.relabel(t)
		if _, status := bench.schedule(t, pods[0]); status.IsSuccess() {
			return
		}
	}
	t.Error("it yields once more often than gangs wait")
}
