package solve_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// racksOf are racks r0, r1, … of one zone, with a node for each pod that there is room for in the rack.
func racksOf(rooms ...int) []*corev1.Node {
	var nodes []*corev1.Node
	for rack, room := range rooms {
		for i := range room {
			name := fmt.Sprintf("r%d-%d", rack, i)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				"zone": "z", "rack": fmt.Sprintf("r%d", rack), corev1.LabelHostname: name,
			}}}
			node.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("8Gi"),
				corev1.ResourcePods: resource.MustParse("10"),
			}
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// members are pods of a leaf that fill a node each.
func members(leaf string, count int, changes ...func(*corev1.Pod)) []*corev1.Pod {
	var made []*corev1.Pod
	for i := range count {
		name := fmt.Sprintf("%s%d", leaf, i)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
			Labels: map[string]string{kai.LabelSubGroupName: leaf}}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}
		for _, change := range changes {
			change(pod)
		}
		made = append(made, pod)
	}
	return made
}

func gated(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} }

func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = node }
}

func small(pod *corev1.Pod) {
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
}

func evenly(pod *corev1.Pod) {
	pod.Labels["app"] = "a"
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}}
}

// apart keeps pods off each other's nodes; they are small, so that nothing else does.
func apart(pod *corev1.Pod) {
	small(pod)
	pod.Labels["app"] = "a"
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		}},
	}}
}

// leaf is a PodGroup without subgroups.
func leaf(minimum, expected int32, constraint scheduling.TopologyConstraint) *scheduling.PodGroup {
	constraint.Topology = "network"
	return groups(podgrouptree.Expected{"": expected},
		scheduling.PodGroupSpec{MinMember: &minimum, TopologyConstraint: &constraint})
}

func groups(expected podgrouptree.Expected, spec scheduling.PodGroupSpec) *scheduling.PodGroup {
	return &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "gang",
			Annotations: map[string]string{scheduling.AnnotationExpectedPods: expected.String()}},
		Spec: spec,
	}
}

var (
	levels   = []string{"zone", "rack"}
	topology = &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: "network"},
		Spec:       kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: "zone"}, {NodeLabel: "rack"}}},
	}
	oneRack   = scheduling.TopologyConstraint{RequiredTopologyLevel: "rack"}
	fewRacks  = scheduling.TopologyConstraint{PreferredTopologyLevel: "rack"}
	sevenOnes = []int{1, 1, 1, 1, 1, 1, 1, 4}
)

func assemble(t tester, podGroup *scheduling.PodGroup, pods []*corev1.Pod) *gang.Gang {
	t.Helper()
	assembled, hold := gang.Assemble(podGroup, pods,
		func(string) (podgrouptree.Hierarchy, bool) { return hierarchy(levels...), true })
	if hold != nil && !hold.Lacks {
		t.Fatal(hold.Message)
	}
	return assembled
}

func decide(
	t *testing.T, nodes []*corev1.Node, podGroup *scheduling.PodGroup, pods []*corev1.Pod, followers ...*gang.Gang,
) (*gang.Gang, *solve.Answer) {
	t.Helper()
	assembled := assemble(t, podGroup, pods)
	_, lacks := gang.Assemble(podGroup, pods, nil)
	cluster, err := kubeframework.NewOffline(t.Context(), nodes, assembled.Standing)
	require.NoError(t, err)
	snapshot, err := cluster.Nodes()
	require.NoError(t, err)
	answer, err := solve.Solve(t.Context(), solve.Request{
		Gang: assembled, Topologies: map[string]*kai.Topology{"network": topology}, View: clusterview.New(cluster),
		Nodes: snapshot, Followers: followers, Mends: assembled.Mends(), Lacks: lacks,
	})
	require.NoError(t, err)
	return assembled, answer
}

// racks returns the racks of some nodes, by name.
func racks(nodes map[string]string) []string {
	found := map[string]bool{}
	for _, node := range nodes {
		rack, _, _ := strings.Cut(node, "-")
		found[rack] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestAGangGoesWhereThePodsHaveRoomThatItIsExpectedToHave(t *testing.T) {
	for name, c := range map[string]struct {
		rooms    []int
		podGroup *scheduling.PodGroup
		pods     []*corev1.Pod
		racks    []string
		// placed and kept are how many pods get a node, and how many more find theirs.
		placed, kept int
		message      string
	}{
		"the first pod of four goes to the rack that holds four": {
			rooms: sevenOnes, podGroup: leaf(1, 4, oneRack), pods: members("", 1), racks: []string{"r7"}, placed: 1, kept: 3,
		},
		"alone it would go to the tightest": {
			rooms: sevenOnes, podGroup: leaf(1, 1, oneRack), pods: members("", 1), racks: []string{"r0"}, placed: 1,
		},
		"the tightest of those that hold all": {
			rooms: []int{1, 6, 4, 8}, podGroup: leaf(1, 4, oneRack), pods: members("", 1), racks: []string{"r2"}, placed: 1,
			kept: 3,
		},
		"if none holds all, the one that holds most": {
			rooms: []int{1, 2, 3, 2}, podGroup: leaf(1, 5, oneRack), pods: members("", 1), racks: []string{"r2"}, placed: 1,
			kept: 2,
			message: "room for 3 of the 5 pods that are expected: the gang: 2 pods beyond the minimum wait, " +
				"since rack z/r2 has no room for more",
		},
		"a preferred level is kept for all of them": {
			rooms: sevenOnes, podGroup: leaf(1, 4, fewRacks), pods: members("", 1), racks: []string{"r7"}, placed: 1, kept: 3,
		},
		"what is needed comes before what is expected": {
			rooms: []int{2, 1, 1}, podGroup: leaf(2, 9, oneRack), pods: members("", 2), racks: []string{"r0"}, placed: 2,
			message: "room for 2 of the 9 pods that are expected: ",
		},
		"pods behind gates count": {
			rooms: sevenOnes, podGroup: leaf(1, 1, oneRack), pods: append(members("", 1), members("gated", 3, gated)...),
			racks: []string{"r0"}, placed: 1,
		},
		"once a pod stands, the others follow it": {
			rooms: sevenOnes, podGroup: leaf(1, 4, oneRack), pods: append(members("", 1), members("", 1, on("r0-0"))...),
			placed:  0,
			message: "has no room for more",
		},
		"pods that keep off each other's nodes": {
			rooms: sevenOnes, podGroup: leaf(1, 4, oneRack), pods: members("", 1, apart), racks: []string{"r7"}, placed: 1,
			kept: 3,
		},
		"pods that spread over nodes": {
			rooms: sevenOnes, podGroup: leaf(1, 4, oneRack), pods: members("", 1, evenly), racks: []string{"r7"}, placed: 1,
			kept: 3,
		},
		"of a leaf without a pod only what is needed counts": {
			rooms: sevenOnes, placed: 1, racks: []string{"r0"}, pods: members("driver", 1),
			podGroup: groups(podgrouptree.Expected{"worker": 3}, scheduling.PodGroupSpec{
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"},
				SubGroups: []scheduling.SubGroup{{Name: "driver", MinMember: ptr.To[int32](1)},
					{Name: "worker", MinMember: ptr.To[int32](0)}},
			}),
		},
		"a group that is not complete yet has its room beside the one that starts": {
			rooms: []int{2, 4, 6}, placed: 2, kept: 2, racks: []string{"r1"}, pods: append(members("a", 2), members("b", 1)...),
			podGroup: groups(nil, scheduling.PodGroupSpec{
				MinSubGroup:        ptr.To[int32](1),
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"},
				SubGroups: []scheduling.SubGroup{{Name: "a", MinMember: ptr.To[int32](2)},
					{Name: "b", MinMember: ptr.To[int32](2)}},
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, answer := decide(t, racksOf(c.rooms...), c.podGroup, c.pods)
			if answer.Verdict != scheduling.ReasonPlaced || len(answer.Nodes) != c.placed {
				t.Fatalf("%s, %v, want %d pods placed: %s", answer.Verdict, answer.Nodes, c.placed, answer.Message)
			}
			got := racks(answer.Nodes)
			assert.True(t, slices.Equal(got, c.racks), "pods go to %v, want %v", got, c.racks)
			kept := 0
			for node, pods := range answer.Kept[assembled.Key()] {
				kept += len(pods)
				rack, _, _ := strings.Cut(node, "-")
				assert.Contains(t, c.racks, rack, "room is kept on node %s, and the pods go", node)
			}
			assert.Equal(t, c.kept, kept, "room is kept for %d pods, want %d", kept, c.kept)
			if !strings.Contains(answer.Message, c.message) || c.message == "" && answer.Message != "" {
				t.Errorf("message %q, want %q", answer.Message, c.message)
			}
			if root := answer.Groups[0]; root.Placed != c.placed+len(assembled.Standing) {
				t.Errorf("the group is said to have %d pods on nodes: %+v", root.Placed, root)
			}
		})
	}
}

// Existing pods go before expected ones: one of two leaves has all its pods, and there is room for three in all.
func TestExpectedPodsTakeNoRoomFromExistingPods(t *testing.T) {
	podGroup := groups(podgrouptree.Expected{"a": 4, "b": 2}, scheduling.PodGroupSpec{
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"},
		SubGroups: []scheduling.SubGroup{{Name: "a", MinMember: ptr.To[int32](1)},
			{Name: "b", MinMember: ptr.To[int32](1)}},
	})
	_, answer := decide(t, racksOf(2, 3), podGroup, append(members("a", 1), members("b", 2)...))
	assert.Empty(t, cmp.Diff([]string{"a0", "b0", "b1"}, slices.Sorted(maps.Keys(answer.Nodes))), "pods with a node")
	assert.Equal(t, []string{"r1"}, racks(answer.Nodes), "pods go")
}

// A leaf of pods that differ: the minimum is met by pods that are there.
func TestPodsThatAreExpectedDoNotCountForTheMinimum(t *testing.T) {
	pods := append(members("big", 1), members("tiny", 1, small)...)
	for _, pod := range pods {
		pod.Labels = nil
	}
	pods[1].CreationTimestamp = metav1.Now()
	assembled, answer := decide(t, racksOf(1, 1),
		leaf(2, 12, scheduling.TopologyConstraint{RequiredTopologyLevel: "zone"}), pods)
	assert.Equal(t, scheduling.ReasonPlaced, answer.Verdict, "%v: %s", answer.Nodes, answer.Message)
	assert.True(t, assembled.Satisfied(func(pod *corev1.Pod) bool { return answer.Nodes[pod.Name] != "" }),
		"%v: %s", answer.Nodes, answer.Message)
}

func TestAGangThatDoesNotFitIsToldOfItsOwnPodsAlone(t *testing.T) {
	_, answer := decide(t, racksOf(1, 2), leaf(3, 9, oneRack), members("", 3))
	assert.Equal(t, scheduling.ReasonInfeasible, answer.Verdict)
	assert.Contains(t, answer.Message, "2 of 3 pods fit")
}

// hierarchy has levels of these keys and without aliases.
func hierarchy(keys ...string) podgrouptree.Hierarchy {
	levels := make(podgrouptree.Hierarchy, len(keys))
	for i, key := range keys {
		levels[i].Key = key
	}
	return levels
}
