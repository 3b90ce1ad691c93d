package kubeframework_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

func spreadNodes(t *rapid.T) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{
			"zone": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"),
			"disk": rapid.SampledFrom([]string{"ssd", "hdd"}).Draw(t, "disk"),
		}}}
		if rapid.IntRange(0, 5).Draw(t, "named") > 0 {
			node.Labels[corev1.LabelHostname] = node.Name
		}
		if rapid.IntRange(0, 4).Draw(t, "tainted") == 0 {
			node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("20")}
		nodes = append(nodes, node)
	}
	return nodes
}

func spreadPod(t *rapid.T) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "asking", UID: "asking",
		Labels: map[string]string{
			"app":     rapid.SampledFrom([]string{"x", "y"}).Draw(t, "app"),
			"version": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version"),
		}}}
	if rapid.Bool().Draw(t, "selects") {
		pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"zone", corev1.LabelHostname}), 1, 2,
		rapid.ID[string]).Draw(t, "keys") {
		constraint := corev1.TopologySpreadConstraint{
			MaxSkew: rapid.Int32Range(1, 2).Draw(t, "skew"), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		}
		if rapid.Bool().Draw(t, "versions") {
			constraint.MatchLabelKeys = []string{"version"}
		}
		if rapid.Bool().Draw(t, "least") {
			constraint.MinDomains = ptr.To(rapid.Int32Range(1, 4).Draw(t, "domains"))
		}
		policies := []*corev1.NodeInclusionPolicy{nil, ptr.To(corev1.NodeInclusionPolicyHonor),
			ptr.To(corev1.NodeInclusionPolicyIgnore)}
		constraint.NodeAffinityPolicy = rapid.SampledFrom(policies).Draw(t, "affinity")
		constraint.NodeTaintsPolicy = rapid.SampledFrom(policies).Draw(t, "taints")
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
	return pod
}

// Counts that follow pods one by one say of every node what the filter says that is asked anew.
func TestASpreadFollowsAsTheFilterCountsAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, pod := spreadNodes(t), spreadPod(t)
		cluster, err := kubeframework.NewOffline(t.Context(), nodes, nil)
		require.NoError(t, err)
		infos, err := cluster.Nodes()
		require.NoError(t, err)
		spread, err := kubeframework.NewSpread(pod, infos)
		require.NoError(t, err)
		refused := map[string]bool{}
		for i := range rapid.IntRange(1, 12).Draw(t, "puts") {
			state := kubeframework.Simulation()
			_, status, _ := cluster.RunPreFilterPlugins(t.Context(), state, pod)
			require.True(t, status.IsSuccess(), "%v", status)
			kubeframework.IgnoreRoomAndNodes(state)
			for _, info := range infos {
				node := info.Node()
				allows := cluster.RunFilterPlugins(t.Context(), state, pod, info).IsSuccess()
				got := spread.Allows(node)
				require.Equal(t, allows, got, "after %d pods node %s is allowed: %v, the filter says %v", i, node.Name, got, allows)
				if refused[node.Name] && allows {
					t.Fatalf("node %s was opened, and nobody said so", node.Name)
				}
				refused[node.Name] = !allows
			}
			put := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i),
				UID: types.UID(fmt.Sprint("p", i)), Labels: pod.Labels}}
			put.Spec.NodeName = rapid.SampledFrom(nodes).Draw(t, "on").Name
			require.NoError(t, cluster.Change(kubeframework.Change{Stand: []*corev1.Pod{put}}))
			for _, node := range nodes {
				if node.Name == put.Spec.NodeName && spread.Put(put, node) {
					clear(refused)
				}
			}
		}
	})
}

func TestPodsWithoutConstraintsHaveNoSpread(t *testing.T) {
	anyway := &corev1.Pod{}
	anyway.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{WhenUnsatisfiable: corev1.ScheduleAnyway, TopologyKey: "zone"},
	}
	for _, pod := range []*corev1.Pod{{}, anyway} {
		if spread, err := kubeframework.NewSpread(pod, nil); spread != nil || err != nil {
			t.Errorf("%v, %v", spread, err)
		}
	}
}
