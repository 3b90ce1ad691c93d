package capacity_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/shared/packing"
)

const gpu = "example.com/gpu"

func labels(zone, rack string) map[string]string {
	found := map[string]string{}
	if zone != "" {
		found["zone"] = zone
	}
	if rack != "" {
		found["rack"] = rack
	}
	return found
}

func TestReport(t *testing.T) {
	tracker := capacity.New()
	tracker.SetNode("n1", labels("z1", "r1"), packing.Resources{gpu: 8, "cpu": 4000, "pods": 110}, true)
	tracker.SetTopology("t", []string{"zone", "rack"})
	tracker.SetNode("n2", labels("z1", "r2"), packing.Resources{gpu: 4}, true)
	tracker.SetNode("n3", labels("z1", "r2"), packing.Resources{gpu: 4}, false)
	tracker.SetNode("n4", labels("z1", ""), packing.Resources{gpu: 2}, true)
	tracker.SetNode("n5", labels("", "r2"), packing.Resources{gpu: 2}, true)
	tracker.SetPod("a", "n1", packing.Resources{gpu: 3, "cpu": 500, "pods": 1})
	tracker.SetPod("b", "n2", packing.Resources{gpu: 5}) // More than there is counts as all of it.

	want := []capacity.Level{
		{Topology: "t", Key: "zone", Count: 1, Largest: resources(7, 14, 3.5, 4), Domains: []capacity.Domain{
			{Path: "z1", Resources: resources(7, 14, 3.5, 4)},
		}},
		{Topology: "t", Key: "rack", Count: 2, Largest: resources(5, 8, 3.5, 4), Domains: []capacity.Domain{
			{Path: "z1/r1", Resources: resources(5, 8, 3.5, 4)},
			{Path: "z1/r2", Resources: resources(0, 4, 0, 0)},
		}},
	}
	if diff := cmp.Diff(want, tracker.Report(capacity.Bounds{PerLevel: 2, InAll: 3})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want[1].Domains = nil
	for name, bounds := range map[string]capacity.Bounds{
		"a level of too many domains is not listed":      {PerLevel: 1, InAll: 3},
		"nor one for which there is no room in the list": {PerLevel: 2, InAll: 2},
	} {
		if diff := cmp.Diff(want, tracker.Report(bounds)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func resources(freeGPU, gpus, freeCPU, cpu float64) []capacity.Resource {
	return []capacity.Resource{{Name: gpu, Free: freeGPU, Offered: gpus}, {Name: "cpu", Free: freeCPU, Offered: cpu}}
}

// world is what a tracker has been told, and is told to a new one in one go to see what it should know.
type world struct {
	topologies map[string][]string
	nodes      map[string]worldNode
	pods       map[types.UID]worldPod
}

type worldNode struct {
	labels      map[string]string
	allocatable packing.Resources
	usable      bool
}

type worldPod struct {
	node     string
	requests packing.Resources
}

func (w *world) report() []capacity.Level {
	tracker := capacity.New()
	// Seen first, so that the number of a resource never decides.
	tracker.SetNode("numbers", nil, packing.Resources{gpu: 1, "cpu": 1}, false)
	for name, node := range w.nodes {
		tracker.SetNode(name, node.labels, node.allocatable, node.usable)
	}
	for uid, pod := range w.pods {
		tracker.SetPod(uid, pod.node, pod.requests)
	}
	for name, levels := range w.topologies {
		tracker.SetTopology(name, levels)
	}
	return tracker.Report(everything)
}

var everything = capacity.Bounds{PerLevel: 100, InAll: 1000}

// change does one random thing to the world and to the tracker.
func (w *world) change(t *rapid.T, tracker *capacity.Tracker) {
	name := fmt.Sprint("n", rapid.IntRange(0, 3).Draw(t, "node"))
	uid := types.UID(fmt.Sprint("p", rapid.IntRange(0, 5).Draw(t, "pod")))
	amounts := packing.Resources{gpu: rapid.Int64Range(0, 9).Draw(t, "gpus"), "cpu": 1000}
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		value := rapid.SampledFrom([]string{"", "1", "2"})
		node := worldNode{labels(value.Draw(t, "zone"), value.Draw(t, "rack")), amounts, rapid.Bool().Draw(t, "usable")}
		w.nodes[name] = node
		tracker.SetNode(name, node.labels, node.allocatable, node.usable)
	case 1:
		delete(w.nodes, name)
		tracker.RemoveNode(name)
	case 2, 3:
		w.pods[uid] = worldPod{name, amounts}
		tracker.SetPod(uid, name, amounts)
	case 4:
		delete(w.pods, uid)
		tracker.RemovePod(uid)
	case 5:
		topology := rapid.SampledFrom([]string{"t", "u"}).Draw(t, "topology")
		levels := rapid.SampledFrom([][]string{nil, {"rack"}, {"zone", "rack"}}).Draw(t, "levels")
		if levels == nil {
			delete(w.topologies, topology)
			tracker.RemoveTopology(topology)
			return
		}
		w.topologies[topology] = levels
		tracker.SetTopology(topology, levels)
	}
}

func TestEventsInAnyOrderAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := &world{map[string][]string{}, map[string]worldNode{}, map[types.UID]worldPod{}}
		tracker := capacity.New()
		tracker.SetNode("numbers", nil, packing.Resources{gpu: 1, "cpu": 1}, false)
		for range rapid.IntRange(1, 40).Draw(t, "changes") {
			told.change(t, tracker)
			if diff := cmp.Diff(told.report(), tracker.Report(everything)); diff != "" {
				t.Fatalf("told at once and one after the other differ (-at once +one after the other):\n%s", diff)
			}
		}
	})
}

// BenchmarkReport is what one scrape costs at 5,000 nodes in 125 racks, with 20,000 pods.
func BenchmarkReport(b *testing.B) {
	tracker := capacity.New()
	tracker.SetTopology("t", []string{"zone", "rack", "host"})
	for i := range 5000 {
		name := fmt.Sprint("n", i)
		at := labels(fmt.Sprint("z", i/500), fmt.Sprint("r", i/40))
		at["host"] = name
		tracker.SetNode(name, at, packing.Resources{gpu: 8, "cpu": 64000, "memory": 1 << 38}, true)
	}
	for i := range 20_000 {
		tracker.SetPod(types.UID(fmt.Sprint(i)), fmt.Sprint("n", i%5000), packing.Resources{gpu: 1, "cpu": 1000})
	}
	for b.Loop() {
		tracker.Report(capacity.Bounds{PerLevel: 256, InAll: 2048})
	}
}

// BenchmarkSetPod is what one pod that is bound and one that goes away cost.
func BenchmarkSetPod(b *testing.B) {
	tracker := capacity.New()
	tracker.SetTopology("t", []string{"zone", "rack"})
	tracker.SetNode("n", labels("z", "r"), packing.Resources{gpu: 8, "cpu": 64000, "memory": 1 << 38}, true)
	for b.Loop() {
		tracker.SetPod("p", "n", packing.Resources{gpu: 1, "cpu": 1000})
		tracker.RemovePod("p")
	}
}
