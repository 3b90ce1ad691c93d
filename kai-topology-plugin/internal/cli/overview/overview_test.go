package overview

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/occupancy"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const rack = "example.com/rack"

// randomCluster has nodes of one or two racks, and pods of gangs and without.
func randomCluster(t *rapid.T) *inventory.Inventory {
	cluster := inventory.New()
	cluster.Topologies["racks"] = &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: "racks"},
		Spec:       kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: rack}, {NodeLabel: corev1.LabelHostname}}},
	}
	names := []string{""}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		node := nodeNamed(fmt.Sprintf("n%d", i), fmt.Sprintf("r%d", i%2))
		if rapid.IntRange(0, 4).Draw(t, "without a label") == 0 {
			delete(node.Labels, rack)
		}
		node.Spec.Unschedulable = rapid.Bool().Draw(t, "cordoned")
		cluster.Nodes = append(cluster.Nodes, node)
		names = append(names, node.Name)
	}
	for _, gang := range []string{"a", "b"} {
		minimum := int32(rapid.IntRange(1, 3).Draw(t, "minimum"))
		cluster.PodGroups = append(cluster.PodGroups, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "of-" + gang, Name: gang, UID: "uid"},
			Spec:       scheduling.PodGroupSpec{MinMember: &minimum},
		})
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "pods") {
		gang := rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "gang")
		pod := podNamed("of-"+gang, fmt.Sprintf("p%d", i), gang, rapid.IntRange(0, 4).Draw(t, "gpus"))
		pod.Spec.NodeName = rapid.SampledFrom(names).Draw(t, "node")
		if rapid.IntRange(0, 5).Draw(t, "over") == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		cluster.Pods = append(cluster.Pods, pod)
	}
	return cluster
}

func nodeNamed(name, inRack string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{rack: inRack, corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			nodes.GPU: resource.MustParse("8"), corev1.ResourcePods: resource.MustParse("10"), "example.com/none": {},
		}},
	}
}

func podNamed(namespace, name, gang string, gpus int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)},
		Spec: corev1.PodSpec{SchedulerName: "theirs", Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{nodes.GPU: *resource.NewQuantity(int64(gpus), resource.DecimalSI)}},
		}}},
	}
	if gang != "" {
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: gang}
	}
	return pod
}

// domainsSum adds up the nodes of a topology as it is drawn.
func domainsSum(domain *occupancy.Domain) (nodes int, used float64) {
	if len(domain.Domains) == 0 && domain.Unlabelled == nil {
		return domain.Nodes, domain.Used
	}
	parts := domain.Domains
	if domain.Unlabelled != nil {
		parts = append([]*occupancy.Domain{domain.Unlabelled}, parts...)
	}
	for _, part := range parts {
		partNodes, partUsed := domainsSum(part)
		nodes, used = nodes+partNodes, used+partUsed
	}
	return nodes, used
}

func TestDomainsNodesAndPodsTellTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster := randomCluster(t)
		seen, err := Of(t.Context(), cluster, Question{})
		require.NoError(t, err)
		onNode, ofGang := map[string]float64{}, map[string]int{}
		for _, pod := range seen.Pods {
			if pod.Node != "" {
				onNode[pod.Node] += pod.Amount
				ofGang[pod.Gang]++
			}
			assert.Equal(t, pod.Gang != "", pod.Scheduler == "", "pod %+v: the scheduler is that of pods without a gang", pod)
		}
		total := 0.0
		for _, node := range seen.Nodes {
			if stock := node.Resources[seen.Resource]; stock.Used != onNode[node.Name] || stock.Total != 8 {
				t.Errorf("node %s has %+v, its pods use %v", node.Name, stock, onNode[node.Name])
			}
			total += onNode[node.Name]
		}
		if nodes, used := domainsSum(seen.Topologies[0].Cluster); nodes != len(seen.Nodes) || used != total {
			t.Errorf("the narrowest domains have %d nodes and use %v, the cluster %d and %v", nodes, used, len(seen.Nodes), total)
		}
		for _, g := range seen.Gangs {
			if g.Scheduled != ofGang[g.Name] || g.Nodes != nil {
				t.Errorf("gang %s has %d pods on nodes, %d are listed; nodes %v", g.Name, g.Scheduled, ofGang[g.Name], g.Nodes)
			}
			waits := g.State != explanation.Runs && g.Pending > 0
			assert.Equal(t, listed(seen.Waiting, g.Name), waits, "gang %s, %s: listed as waiting is %v", g.Name, g.State, !waits)
		}
	})
}

func listed(waiting []Waiting, name string) bool {
	for _, waits := range waiting {
		if waits.Name == name {
			return true
		}
	}
	return false
}

func TestOneNamespaceIsListedAndEverybodysAmountsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster := randomCluster(t)
		all, err := Of(t.Context(), cluster, Question{})
		require.NoError(t, err)
		some, err := Of(t.Context(), cluster, Question{Namespace: "of-a"})
		require.NoError(t, err)
		for _, pod := range some.Pods {
			assert.Equal(t, "of-a", pod.Namespace, "pod %s/%s is listed", pod.Namespace, pod.Name)
		}
		require.Len(t, some.Gangs, 1)
		assert.Equal(t, "a", some.Gangs[0].Name)
		assert.Empty(t, cmp.Diff(all.Nodes, some.Nodes), "nodes tell of everybody's pods (-all +some)")
	})
}

func TestNodesAndPods(t *testing.T) {
	cordoned := nodeNamed("n", "r")
	cordoned.Spec.Unschedulable = true
	cordoned.Spec.Taints = []corev1.Taint{
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		{Key: "dedicated", Value: "training", Effect: corev1.TaintEffectNoExecute},
	}
	gated, leaving := podNamed("d", "gated", "g", 1), podNamed("d", "leaving", "", 2)
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
	leaving.Spec.NodeName, leaving.DeletionTimestamp = "n", &metav1.Time{}
	seen, err := Of(t.Context(), &inventory.Inventory{Nodes: []*corev1.Node{cordoned}, Pods: []*corev1.Pod{leaving, gated}}, Question{})
	require.NoError(t, err)
	nodes := []Node{{
		Name: "n", Cordoned: true, Taints: []string{"dedicated=training:NoExecute"},
		Resources: map[string]Stock{string(nodes.GPU): {Used: 2, Total: 8}},
	}}
	assert.Empty(t, cmp.Diff(nodes, seen.Nodes), "nodes (-want +got)")
	pods := []Pod{
		{Namespace: "d", Name: "gated", Gang: "g", Amount: 1, Gated: true},
		{Namespace: "d", Name: "leaving", Node: "n", Amount: 2, Scheduler: "theirs", Leaving: true},
	}
	assert.Empty(t, cmp.Diff(pods, seen.Pods), "pods (-want +got)")
	if len(seen.Notes) != 1 || !strings.Contains(seen.Notes[0], "there is no Topology") || seen.Topologies[0].Name != "" {
		t.Errorf("notes %q, topology %q", seen.Notes, seen.Topologies[0].Name)
	}
}

func TestWhatTheClusterDoesNotHave(t *testing.T) {
	cluster := inventory.New()
	cluster.Nodes = []*corev1.Node{nodeNamed("n", "r")}
	for want, asked := range map[string]Question{
		`--topology: no Topology is called "other", there is: none`:                  {Topology: "other"},
		"--resource: no node has amd.com/gpu, they have: example.com/none, nvidia.c": {Resource: "amd.com/gpu"},
	} {
		_, err := Of(t.Context(), cluster, asked)
		require.ErrorContains(t, err, want, "%+v", asked)
	}
	cluster.Nodes[0].Status.Allocatable = nil
	_, err := Of(t.Context(), cluster, Question{})
	assert.NoError(t, err, "a node that has not reported its resources")
}

func TestHugeAmountsAreFinite(t *testing.T) {
	huge, pod := nodeNamed("n", "r"), podNamed("d", "huge", "g", 1)
	huge.Status.Allocatable[nodes.GPU] = resource.MustParse("1e400")
	pod.Spec.Containers[0].Resources.Requests[nodes.GPU] = resource.MustParse("1e400")
	pod.Spec.NodeName = "n"
	seen, err := Of(t.Context(), &inventory.Inventory{Nodes: []*corev1.Node{huge}, Pods: []*corev1.Pod{pod}}, Question{})
	require.NoError(t, err)
	_, err = json.Marshal(seen)
	require.NoError(t, err)
}
