package plugin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// placeholders are a gang of low priority with one pod in each rack: holder-r on n2 of rack r (n0 to n2), and holder-s
// on n5 of rack s (n3 to n5). Each node has room for one pod. Gang runs is in the rest of rack r.
func placeholders(minimum int32) (racks []*corev1.Node, pods []*corev1.Pod, objects []kruntime.Object) {
	racks = newNodes(6)
	for _, node := range racks[3:] {
		node.Labels["rack"] = "s"
	}
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "racks"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	holders := podGroup("holders", 1)
	holders.Annotations = map[string]string{
		scheduling.AnnotationRelations: `[{"name":"racks","topology":"racks","level":"rack","maxPerDomain":1}]`,
	}
	pods = []*corev1.Pod{
		ranked(-1, "n2", newPod("holders", "holder-r")), ranked(-1, "n5", newPod("holders", "holder-s")),
		ranked(0, "n0", newPod("runs", "runs-0")), ranked(0, "n1", newPod("runs", "runs-1")),
	}
	return racks, pods, []kruntime.Object{topology, holders, inOneRack(podGroup("runs", minimum))}
}

func TestPlaceholdersGiveTheirRoomByRack(t *testing.T) {
	asking := func(count int) (pods []*corev1.Pod) {
		for i := range count {
			pods = append(pods, ranked(0, "", newPod("asks", "asks-"+string(rune('0'+i)))))
		}
		return pods
	}
	again := []*corev1.Pod{ranked(0, "", newPod("runs", "runs-again"))}
	for name, c := range map[string]struct {
		asks    []*corev1.Pod
		lost    bool
		minimum int32
		left    string
		placed  bool
	}{
		"none to a new gang that has room beside it":      {asks: asking(2), minimum: 2, left: "holder-r holder-s", placed: true},
		"that of one rack to a new gang that needs it":    {asks: asking(3), minimum: 2, left: "holder-r"},
		"none to a gang that no rack holds":               {asks: asking(4), minimum: 2, left: "holder-r holder-s"},
		"that of its rack to a replacement pod":           {asks: again, lost: true, minimum: 2, left: "holder-s"},
		"none to a replacement pod that is not necessary": {asks: again, lost: true, minimum: 1, left: "holder-r holder-s"},
	} {
		t.Run(name, func(t *testing.T) {
			racks, pods, objects := placeholders(c.minimum)
			if c.lost {
				racks, pods = racks[1:], slices.Delete(pods, 2, 3)
			}
			objects = append(objects, inOneRack(podGroup("asks", int32(len(c.asks)))))
			bench := newBench(t, racks, append(pods, c.asks...), objects...)
			require.Equal(t, c.placed, bench.ask(t, c.asks[0]), "it has room")
			nobody := c.left == "holder-r holder-s"
			key, _ := gang.KeyOf(c.asks[0])
			assert.False(t, nobody && bench.plugin.gangs.View(key).Preempts, "others leave for it")
			holders := func() string {
				names := slices.Sorted(maps.Keys(bench.names(t)))
				return strings.Join(slices.DeleteFunc(names, func(name string) bool {
					return !strings.HasPrefix(name, "holder")
				}), " ")
			}
			eventually(t, "who is left is "+c.left, func() bool { return holders() == c.left })
		})
	}
}

// The owner of a placeholder makes it again at once, while the room that the old one left is held.
func TestAPlaceholderThatIsMadeAgainWaits(t *testing.T) {
	racks, pods, objects := placeholders(2)
	again, holder := ranked(0, "", newPod("runs", "runs-again")), ranked(-1, "", newPod("holders", "holder-again"))
	// Both node n0, with its pod, and the placeholder of the rack are gone.
	bench := newBench(t, racks[1:], []*corev1.Pod{pods[1], pods[3], again, holder}, objects...)
	bench.preemptFor(t, gang.Key{Namespace: "default", Name: "runs"}, again, "n2")
	node, _ := bench.schedule(t, holder)
	assert.Empty(t, node, "the placeholder")
	node, status := bench.schedule(t, again)
	assert.Equal(t, "n2", node, "the replacement gets %q: %s", node, status.Message())
}
