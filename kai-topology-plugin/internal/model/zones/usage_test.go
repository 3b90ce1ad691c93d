package zones_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

// gpus is how many are free in each zone.
func gpus(u *zones.Usage) (free []int64) {
	for _, zone := range u.Free() {
		free = append(free, zone["nvidia.com/gpu"])
	}
	return free
}

func TestWhatPodsLeave(t *testing.T) {
	n := node(t, "single-numa-node pod", "4 gpu", "4 gpu")
	three := zones.DemandOf(pod("p", "3 gpu"))
	u := n.Usage(nil, nil)
	free := func(when string, want ...int64) {
		t.Helper()
		got := gpus(u)
		assert.True(t, slices.Equal(got, want), "%s: %d free, want %d", when, got, want)
	}
	first := u.Add("first", three, nil)
	u.Add("second", three, in(2, 1, "3 gpu"))
	free("two of three", 1, 1)
	_, known := u.HeldBy("second")
	assert.True(t, known, "the zone of the second is known")
	before := u.Clone()
	u.Add("third", zones.DemandOf(pod("p", "2 gpu")), nil)
	free("a third that may be in any zone", 0, 0)
	if held, known := u.HeldBy("third"); known || len(held.In(n)) != 2 {
		t.Errorf("the third holds %v, known %t", held, known)
	}
	u.Remove("third")
	free("the third leaves, from where is not known", 0, 0)
	u.Add("third", nil, in(2, 0, "2 gpu"))
	free("and is back", 0, 0)
	u.Remove("first")
	free("the first leaves", 2, 0)
	u.Add("first", nil, first)
	free("and is back", 0, 0)
	u.Add("third", zones.DemandOf(pod("p", "2 gpu")), in(2, 0, "1 gpu"))
	free("the third is known", 0, 1)
	u.Remove("third")
	u.Remove("second")
	u.Remove("unheard of")
	free("two leave", 1, 4)
	u = before
	free("the copy is as it was", 1, 1)
}

func TestPodsWithoutUIDAreDifferentPods(t *testing.T) {
	u := node(t, "single-numa-node pod", "4 gpu", "4 gpu").Usage(nil, nil)
	for range 3 {
		u.Add("", zones.DemandOf(pod("p", "2 gpu")), nil)
	}
	assert.Equal(t, []int64{0, 2}, gpus(u), "free, want 0 and 2")
}

// TestVictimsOfOneZone is the preemption of pods of one device by one of two.
func TestVictimsOfOneZone(t *testing.T) {
	n := node(t, "single-numa-node container", "4 gpu", "4 gpu")
	var pods []*corev1.Pod
	for i := range 8 {
		pods = append(pods, pod(fmt.Sprint(i), "1 gpu"))
	}
	two := zones.DemandOf(pod("p", "2 gpu"))
	for name, c := range map[string]struct {
		victims []types.UID
		want    bool
	}{
		"one is too few":             {[]types.UID{"uid-0"}, false},
		"two of different zones are": {[]types.UID{"uid-0", "uid-7"}, false},
		"two of one zone are enough": {[]types.UID{"uid-6", "uid-7"}, true},
	} {
		u := n.Usage(created(pods...), nil)
		for _, victim := range c.victims {
			u.Remove(victim)
		}
		held, got := u.Admit(two)
		assert.Equal(t, c.want, got, "%s, %v", name, held)
	}
}

func TestObservation(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		zones  []string
		pods   []*corev1.Pod
		want   map[string]string
	}{
		"containers of a pod, each in its zone": {"single-numa-node container",
			[]string{"4 gpu | 4 gpu", "4 gpu | 1 gpu", "4 gpu | 2 gpu"}, created(pod("x", "3 gpu", "2 gpu")),
			map[string]string{"x": "node-1 node-2"}},
		"a pod with an init container": {"single-numa-node container",
			[]string{"4 gpu | 4 gpu", "4 gpu | 1 gpu"}, created(pod("x", "init: 3 gpu", "2 gpu")), map[string]string{"x": "node-1"}},
		"one resource tells it while another is stale": {"single-numa-node container",
			[]string{"4 gpu, 8 cpu | 4 gpu, 8 cpu", "4 gpu, 8 cpu | 2 gpu, 8 cpu"},
			created(pod("x", "2 gpu, 4 cpu, 1Gi memory")), map[string]string{"x": "node-1"}},
		"several resources at once": {"single-numa-node pod",
			[]string{"4 gpu, 4 nic | 2 gpu, 2 nic", "4 gpu, 4 nic | 2 gpu, 3 nic"},
			created(pod("x", "2 gpu, 2 nic"), pod("y", "2 gpu, 1 nic")), map[string]string{"x": "node-0", "y": "node-1"}},
		"what others than the pods use is not believed": {"single-numa-node pod",
			[]string{"4 gpu | 4 gpu", "4 gpu | 0 gpu"}, created(pod("x", "2 gpu")), map[string]string{"x": "node-0"}},
		"nor what no pod can have": {"single-numa-node pod",
			[]string{"4 gpu | 3 gpu", "4 gpu | 3 gpu"}, created(pod("x", "2 gpu")), map[string]string{"x": "node-0"}},
		"nor more than there is": {"single-numa-node pod",
			[]string{"4 gpu | 5 gpu", "4 gpu | 1 gpu"}, created(pod("x", "2 gpu")), map[string]string{"x": "node-0"}},
		"nor where a zone is not reported": {"single-numa-node pod",
			[]string{"4 gpu | ", "4 gpu | 2 gpu"}, created(pod("x", "2 gpu")), map[string]string{"x": "node-0"}},
		"pods of several zones stay": {"restricted pod",
			[]string{"4 gpu | 0 gpu", "4 gpu | 2 gpu"}, created(pod("x", "6 gpu")), map[string]string{"x": "node-0 node-1"}},
	} {
		n := node(t, c.policy, c.zones...)
		u, got := n.Usage(c.pods, nil), map[string]string{}
		for _, p := range c.pods {
			held, _ := u.HeldBy(p.UID)
			got[p.Name] = strings.Join(held.In(n), " ")
		}
		assert.Empty(t, cmp.Diff(c.want, got), "%s", name)
	}
}

// TestWhatIsObservedIsFound has a kubelet put pods into zones at random, and an agent report it.
func TestWhatIsObservedIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 2000 {
		count := 2 + random.IntN(3)
		used, pods := make([]int64, count), []*corev1.Pod{}
		for range 1 + random.IntN(12) {
			zone, asked := random.IntN(count), int64(1+random.IntN(4))
			if used[zone]+asked <= 8 {
				used[zone] += asked
				pods = append(pods, pod(fmt.Sprint(len(pods)), fmt.Sprint(asked, " gpu")))
			}
		}
		texts, want := make([]string, count), make([]int64, count)
		for zone := range texts {
			want[zone] = 8 - used[zone]
			texts[zone] = fmt.Sprintf("8 gpu | %d gpu", want[zone])
		}
		u := node(t, "single-numa-node container", texts...).Usage(created(pods...), nil)
		got := gpus(u)
		require.True(t, slices.Equal(got, want), "case %d: %d free, want %d", i, got, want)
		for _, p := range pods {
			if held, known := u.HeldBy(p.UID); !known || len(held) != count {
				t.Fatalf("case %d: pod %s holds %v, known %t", i, p.Name, held, known)
			}
			u.Remove(p.UID)
		}
		for _, free := range gpus(u) {
			require.EqualValues(t, 8, free, "case %d: %d free once all pods have left", i, gpus(u))
		}
	}
}

// TestEachPodIsJudgedAlike compares Usage of pods with Add of one after the other.
func TestEachPodIsJudgedAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for i := range 500 {
		n := node(t, []string{"single-numa-node pod", "restricted container"}[i%2], "4 gpu, 8 cpu, 8 memory", "6 gpu, 4 cpu, 8 memory", "2 gpu")
		var pods []*corev1.Pod
		for j := range random.IntN(8) {
			pods = append(pods, pod(fmt.Sprint(j), fmt.Sprintf("%d gpu, %d cpu, 1 memory", 1+random.IntN(9), 1+random.IntN(9)), "1 gpu"))
		}
		counted, added := n.Usage(created(pods...), nil), n.Usage(nil, nil)
		for _, p := range pods {
			added.Add(p.UID, zones.DemandOf(p), nil)
		}
		require.Empty(t, cmp.Diff(counted.Free(), added.Free()), "case %d", i)
	}
}
