package overview

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/shapes"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
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

func TestShapesInUseComeAfterNamedOnes(t *testing.T) {
	cluster := inventory.New()
	cluster.Topologies["racks"] = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: rack}}}}
	cluster.Topologies["zones"] = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: corev1.LabelTopologyZone}}}}
	broken := nodeNamed("broken", "r")
	broken.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	cluster.Nodes = []*corev1.Node{nodeNamed("n", "r"), broken}
	group := func(namespace, name, level string) {
		podGroup := &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)}}
		podGroup.Namespace, podGroup.Name = namespace, name
		if level != "" {
			podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "racks", RequiredTopologyLevel: level}
		}
		cluster.PodGroups = append(cluster.PodGroups, podGroup)
		cluster.Pods = append(cluster.Pods, podNamed(namespace, name+"-0", name, 4))
	}
	group("a", "one", rack)
	group("b", "two", rack)
	group("b", "three", "")
	names := func(asked Question) (racks, zones []string) {
		seen, err := Of(t.Context(), cluster, asked)
		if err != nil {
			t.Fatal(err)
		}
		for _, shape := range seen.Topologies[0].Shapes {
			racks = append(racks, shape.Name+" | "+shape.Asks)
		}
		for _, shape := range seen.Topologies[1].Shapes {
			zones = append(zones, shape.Name)
		}
		if got := seen.Topologies[0].Cluster.Slots; len(got) != len(racks) || slices.ContainsFunc(got, func(n int64) bool { return n != 2 }) {
			t.Errorf("slots %v of %d shapes, want 2 of each: a node that is not ready has none", got, len(racks))
		}
		return racks, zones
	}
	const tight, loose = "1 x nvidia.com/gpu=4 in one example.com/rack", "1 x nvidia.com/gpu=4"
	racks, zones := names(Question{Shapes: named(t, "big=1 x nvidia.com/gpu=4 in one rack on kubernetes.io/hostname=n")})
	want := []string{"big | " + tight + " on kubernetes.io/hostname=n", tight + " | " + tight, loose + " | " + loose}
	if diff := cmp.Diff(want, racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{loose}, zones); diff != "" {
		t.Errorf("a topology without the level (-want +got):\n%s", diff)
	}
	if racks, _ = names(Question{Namespace: "a"}); len(racks) != 1 {
		t.Errorf("of one namespace: %v", racks)
	}
	_, err := Of(t.Context(), cluster, Question{Shapes: named(t, "x=1 x cpu=1 in one row")})
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

func TestAGangWhosePodCannotBeReadIsNamed(t *testing.T) {
	cluster := inventory.New()
	cluster.Topologies["racks"] = &kai.Topology{Spec: kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: rack}}}}
	cluster.Nodes = []*corev1.Node{nodeNamed("n", "r")}
	broken := podNamed("d", "broken", "g", 4)
	broken.Spec.NodeName = "n"
	broken.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: rack, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}},
		}},
	}}
	cluster.Pods = []*corev1.Pod{broken}
	podGroup := &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)}}
	podGroup.Namespace, podGroup.Name = "d", "g"
	cluster.PodGroups = []*scheduling.PodGroup{podGroup}
	seen, err := Of(t.Context(), cluster, Question{Shapes: named(t, "s=1 x nvidia.com/gpu=4")})
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Topologies[0].Cluster.Slots; !slices.Equal(got, []int64{1}) {
		t.Errorf("slots %v; the pod takes what it requests, as on the nodes of the scheduler", got)
	}
	if notes := strings.Join(seen.Notes, "\n"); !strings.Contains(notes, "slots are not counted for gangs like d/g: ") {
		t.Errorf("notes %q do not name the gang", seen.Notes)
	}
}

// Nodes know what pods take that stand there. Of a pod that is being resized this is the larger of what it has and what
// it asks for, for its shape as for the room that it leaves.
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
	podGroup := &scheduling.PodGroup{Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)}}
	podGroup.Namespace, podGroup.Name = "d", "g"
	cluster.PodGroups = []*scheduling.PodGroup{podGroup}
	seen, err := Of(t.Context(), cluster, Question{Resource: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	if shape := seen.Topologies[0].Shapes[0].Name; shape != "1 x cpu=3" {
		t.Errorf("shape %q", shape)
	}
	if got := seen.Topologies[0].Cluster.Slots; !slices.Equal(got, []int64{1}) {
		t.Errorf("slots %v, want 5 CPUs for one more of 3", got)
	}
}
