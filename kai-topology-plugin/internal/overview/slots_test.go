package overview

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/shapes"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

func named(t interface{ Fatal(...any) }, lines ...string) []shapes.Named {
	parsed, err := shapes.Parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// fits is how many pods of so many GPUs a node takes beside those that stand there.
func fits(seen *Overview, node Node, gpus float64) int64 {
	if node.Cordoned {
		return 0
	}
	free, pods := 8.0, int64(10)
	for _, pod := range seen.Pods {
		if pod.Node == node.Name {
			free, pods = free-pod.Amount, pods-1
		}
	}
	return max(0, min(pods, int64(free/gpus)))
}

// Whatever stands where, the slots of the cluster, of its racks and of its hosts are those that the nodes and pods of
// the overview leave room for.
func TestSlotsOfEachDomain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster := randomCluster(t)
		for _, node := range cluster.Nodes {
			node.Labels[corev1.LabelHostname] = "host-" + node.Name // Hosts have other names than nodes on some clouds.
		}
		seen, err := Of(t.Context(), cluster, Question{Shapes: named(t, "loose=2 x nvidia.com/gpu=3", "close=2 x nvidia.com/gpu=3 in one rack")})
		if err != nil {
			t.Fatal(err)
		}
		racks, all, hosts := map[string]int64{}, int64(0), map[string]int64{}
		for i, node := range seen.Nodes {
			fitting := fits(seen, node, 3)
			all += fitting
			if in := cluster.Nodes[i].Labels[rack]; in != "" {
				racks[in] += fitting
				hosts[node.Name] = fitting / 2
			}
		}
		var inRacks int64
		for _, room := range racks {
			inRacks += room / 2
		}
		drawn := seen.Topologies[0].Cluster
		if diff := cmp.Diff([]int64{all / 2, inRacks}, drawn.Slots[:2]); diff != "" {
			t.Fatalf("cluster (-want +got):\n%s", diff)
		}
		for _, domain := range drawn.Domains {
			if want := racks[domain.Name] / 2; domain.Slots[0] != want || domain.Slots[1] != want {
				t.Fatalf("rack %s has slots %v, want %d", domain.Name, domain.Slots, want)
			}
			for _, host := range domain.Domains {
				if want := hosts[host.Name]; host.Slots[0] != want || host.Slots[1] != want {
					t.Fatalf("host %s has slots %v, want %d", host.Name, host.Slots, want)
				}
			}
		}
		if drawn.Unlabelled != nil && drawn.Unlabelled.Slots != nil {
			t.Fatal("nodes without a rack are in no domain, and have no slots")
		}
	})
}

func TestShapesAreCountedInTopologiesThatHaveTheirLevel(t *testing.T) {
	cluster := inventory.New()
	cluster.Topologies["racks"] = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: rack}}}}
	cluster.Topologies["zones"] = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: corev1.LabelTopologyZone}}}}
	broken := nodeNamed("broken", "r")
	broken.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	cluster.Nodes = []*corev1.Node{nodeNamed("n", "r"), broken}
	seen, err := Of(t.Context(), cluster, Question{Shapes: named(t,
		"tight=1 x nvidia.com/gpu=4 in one rack on kubernetes.io/hostname=n", "loose=1 x nvidia.com/gpu=4")})
	if err != nil {
		t.Fatal(err)
	}
	tight := Shape{Name: "tight", Asks: "1 x nvidia.com/gpu=4 in one example.com/rack on kubernetes.io/hostname=n", Level: rack}
	loose := Shape{Name: "loose", Asks: "1 x nvidia.com/gpu=4"}
	if diff := cmp.Diff([]Shape{tight, loose}, seen.Topologies[0].Shapes); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Shape{loose}, seen.Topologies[1].Shapes); diff != "" {
		t.Errorf("a topology without the level (-want +got):\n%s", diff)
	}
	if got := seen.Topologies[0].Cluster.Slots; !slices.Equal(got, []int64{2, 2}) {
		t.Errorf("slots %v, want 2 of each: a node that is not ready has none", got)
	}
	_, err = Of(t.Context(), cluster, Question{Shapes: named(t, "x=1 x cpu=1 in one row")})
	if err == nil || !strings.Contains(err.Error(), `--shape x: no Topology has level "row", there is: example.com/rack, topology.kubernetes.io/zone`) {
		t.Errorf("a level that is nowhere: %v", err)
	}
}

func TestWithoutATopologyNothingIsCounted(t *testing.T) {
	cluster := inventory.New()
	cluster.Nodes = []*corev1.Node{nodeNamed("n", "r")}
	cluster.Nodes[0].Status.Allocatable[occupancy.GPU] = resource.MustParse("8")
	seen, err := Of(t.Context(), cluster, Question{Shapes: named(t, "s=1 x nvidia.com/gpu=1")})
	if err != nil || len(seen.Topologies[0].Shapes) != 0 || seen.Topologies[0].Cluster.Slots != nil {
		t.Errorf("error %v, %+v", err, seen.Topologies[0])
	}
}

// Nodes know what pods take that stand there. Of a pod that is being resized this is the larger of what it has and what
// it asks for.
func TestAPodThatIsResizedTakesWhatTheSchedulerCounts(t *testing.T) {
	cluster := inventory.New()
	cluster.Topologies["racks"] = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: rack}}}}
	cluster.Nodes = []*corev1.Node{nodeNamed("n", "r")}
	cluster.Nodes[0].Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
	resized := podNamed("d", "resized", "g", 0)
	resized.Spec.NodeName = "n"
	resized.Spec.Containers[0].Name = "main"
	cpus := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	}
	resized.Spec.Containers[0].Resources.Requests = cpus("1")
	resized.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", AllocatedResources: cpus("3"), Resources: &corev1.ResourceRequirements{Requests: cpus("3")},
	}}
	cluster.Pods = []*corev1.Pod{resized}
	seen, err := Of(t.Context(), cluster, Question{Resource: "cpu", Shapes: named(t, "three=1 x cpu=3")})
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Topologies[0].Cluster.Slots; !slices.Equal(got, []int64{1}) {
		t.Errorf("slots %v, want 5 CPUs for one more of 3", got)
	}
}
