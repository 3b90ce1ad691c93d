package kubeframework_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// shown is each node of a cluster with its object and the pods on it, by where they are in memory.
func shown(t testing.TB, cluster *kubeframework.Offline) []string {
	t.Helper()
	nodes, err := cluster.Nodes()
	require.NoError(t, err)
	var all []string
	for _, node := range nodes {
		var pods []string
		for _, pod := range node.GetPods() {
			pods = append(pods, fmt.Sprintf("%s %p", pod.GetPod().Name, pod.GetPod()))
		}
		slices.Sort(pods)
		all = append(all, fmt.Sprintf("%s %p: %v", node.Node().Name, node.Node(), pods))
	}
	return all
}

func TestACopyThatFollowsIsLikeANewOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		following, err := kubeframework.NewFollowing(t.Context())
		require.NoError(r, err)
		nodes, pods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
		for step := range rapid.IntRange(1, 6).Draw(r, "steps") {
			for range rapid.IntRange(0, 5).Draw(r, "changes") {
				name := fmt.Sprint("n", rapid.IntRange(0, 3).Draw(r, "node"))
				number := fmt.Sprint("p", rapid.IntRange(0, 4).Draw(r, "pod"))
				switch rapid.IntRange(0, 4).Draw(r, "change") {
				case 0, 1:
					labels := map[string]string{corev1.LabelTopologyZone: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "zone")}
					nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
				case 2:
					delete(nodes, name)
				case 3: // Its node may not be there, or not any more.
					pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: number, UID: types.UID(number)}}
					pod.Spec.NodeName = name
					pods[number] = pod
				default:
					delete(pods, number)
				}
			}
			allNodes, allPods := slices.Collect(maps.Values(nodes)), slices.Collect(maps.Values(pods))
			require.NoError(r, following.Follow(allNodes, allPods))
			fresh, err := kubeframework.NewOffline(t.Context(), allNodes, allPods)
			require.NoError(r, err)
			require.Empty(r, cmp.Diff(shown(t, fresh), shown(t, following.Offline)), "step %d (-new +followed)", step)
		}
	})
}

func TestTwoPodsOfOneUIDAreRefused(t *testing.T) {
	following, err := kubeframework.NewFollowing(t.Context())
	require.NoError(t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	other := pod.DeepCopy()
	other.Name = "q"
	assert.Error(t, following.Follow([]*corev1.Node{node}, []*corev1.Pod{pod, other}),
		"one of two pods with the same UID is left out without a word")
}
