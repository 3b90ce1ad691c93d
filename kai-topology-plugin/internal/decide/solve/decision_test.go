package solve_test

import (
	"fmt"
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
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// twoRacks are two racks of two nodes, each with room for two pods.
func twoRacks() []*corev1.Node {
	var nodes []*corev1.Node
	for _, rack := range []string{"r1", "r2"} {
		for i := range 2 {
			name := fmt.Sprintf("%s-%d", rack, i)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": rack}}}
			node.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
			}
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	made.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	for _, change := range changes {
		change(made)
	}
	return testsupport.Stored(made)[0]
}

func hostPort(pod *corev1.Pod) {
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
}

func alike(count int, changes ...func(*corev1.Pod)) []*corev1.Pod {
	var made []*corev1.Pod
	for i := range count {
		made = append(made, pod(fmt.Sprintf("p%d", i), changes...))
	}
	return made
}

var racksOnly = &kai.Topology{
	ObjectMeta: metav1.ObjectMeta{Name: "topology"},
	Spec:       kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: "rack"}}},
}

// decideInRack asks about a gang that needs all its pods in one rack.
func decideInRack(t *testing.T, members, foreign []*corev1.Pod, reserved clusterview.Reserved) *solve.Answer {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"}}
	podGroup.Spec.MinMember = ptr.To(int32(len(members)))
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "topology", RequiredTopologyLevel: "rack"}
	assembled, hold := gang.Assemble(podGroup, members, func(string) (podgrouptree.Hierarchy, bool) { return podgrouptree.Hierarchy{{Key: "rack"}}, true })
	require.Nil(t, hold)
	cluster, err := kubeframework.NewOffline(t.Context(), twoRacks(), append(foreign, assembled.Standing...))
	require.NoError(t, err)
	nodes, err := cluster.Nodes()
	require.NoError(t, err)
	answer, err := solve.Solve(t.Context(), solve.Request{
		Gang: assembled, Topologies: map[string]*kai.Topology{"topology": racksOnly},
		View: clusterview.New(cluster), Nodes: nodes, Reserved: reserved,
	})
	require.NoError(t, err)
	return answer
}

func TestDecide(t *testing.T) {
	for name, test := range map[string]struct {
		members, foreign []*corev1.Pod
		reserved         clusterview.Reserved
		verdict          string
		racks            []string
	}{
		"a gang goes into one rack":               {members: alike(4), verdict: "Placed", racks: []string{"r1"}},
		"a gang too big for a rack is infeasible": {members: alike(5), verdict: "Infeasible"},
		"a gang goes where others left room": {
			members: alike(4), foreign: []*corev1.Pod{pod("x", on("r1-0"))}, verdict: "Placed", racks: []string{"r2"},
		},
		"room that others have been promised is not taken": {
			members: alike(4), reserved: clusterview.Reserved{"r1-1": {pod("y")}}, verdict: "Placed", racks: []string{"r2"},
		},
		"a gang follows its pods that run": {
			members: append(alike(3), pod("running", on("r2-1"))), verdict: "Placed", racks: []string{"r2"},
		},
		"a gang does not leave the rack of its pods that run, even for a rack with room": {
			members: append(alike(3), pod("running", on("r2-1"))), foreign: []*corev1.Pod{pod("x", on("r2-0"))}, verdict: "Infeasible",
		},
		"pods with one host port stand on nodes of their own": {members: alike(2, hostPort), verdict: "Placed", racks: []string{"r1"}},
		"pods stay off nodes where somebody has their host port": {
			members: alike(2, hostPort), foreign: []*corev1.Pod{pod("x", on("r1-1"), hostPort)}, verdict: "Placed", racks: []string{"r2"},
		},
		"pods stay off nodes where somebody is promised their host port": {
			members: alike(2, hostPort), reserved: clusterview.Reserved{"r1-1": {pod("y", hostPort)}}, verdict: "Placed", racks: []string{"r2"},
		},
		"more pods with one host port than a rack has nodes are infeasible": {members: alike(3, hostPort), verdict: "Infeasible"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := decideInRack(t, test.members, test.foreign, test.reserved)
			require.Equal(t, test.verdict, answer.Verdict,
				"verdict %s (%s), want %s", answer.Verdict, answer.Message, test.verdict)
			if test.verdict != "Placed" {
				assert.NotEmpty(t, answer.Message)
				assert.Empty(t, answer.Nodes)
				return
			}
			assert.Empty(t, cmp.Diff(test.racks, answer.Groups[0].Domains["rack"]), "racks")
		})
	}
}

func TestStandTellsWhereAnIncompleteGangIs(t *testing.T) {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"}}
	podGroup.Spec.SubGroups = []scheduling.SubGroup{{
		Name: "leaf", MinMember: ptr.To[int32](3),
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: "topology", RequiredTopologyLevel: "rack"},
	}}
	member := pod("a", on("r2-0"), func(pod *corev1.Pod) { pod.Labels = map[string]string{kai.LabelSubGroupName: "leaf"} })
	assembled, _ := gang.Assemble(podGroup, []*corev1.Pod{member}, func(string) (podgrouptree.Hierarchy, bool) { return podgrouptree.Hierarchy{{Key: "rack"}}, true })
	question := solve.Request{Gang: assembled, Topologies: map[string]*kai.Topology{"topology": racksOnly}, View: clusterview.New(nil)}
	for _, node := range twoRacks() {
		question.Nodes = append(question.Nodes, kubeframework.BareNode(node))
	}
	answer, err := solve.Stand(question)
	require.NoError(t, err)
	require.Len(t, answer.Groups, 2)
	leaf := answer.Groups[1]
	if leaf.Placed != 1 || leaf.Needed != 3 || !cmp.Equal(leaf.Domains, map[string][]string{"rack": {"r2"}}) {
		t.Errorf("leaf stands as %+v", leaf)
	}
}
