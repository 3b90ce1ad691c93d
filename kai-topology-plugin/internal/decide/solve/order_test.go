package solve_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// numbered is a pod with an index; its name and age do not follow the index.
func numbered(index int, changes ...func(*corev1.Pod)) *corev1.Pod {
	made := pod(fmt.Sprintf("p%d", index*5%7), changes...)
	made.Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
	return made
}

// racksByIndex asks about a gang that uses as few racks as possible, and returns the rack of each index.
func racksByIndex(t *testing.T, members []*corev1.Pod, subGroups ...scheduling.SubGroup) []string {
	t.Helper()
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"}}
	if podGroup.Spec.SubGroups = subGroups; len(subGroups) == 0 {
		podGroup.Spec.MinMember = ptr.To(int32(len(members)))
	}
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "topology", PreferredTopologyLevel: "rack"}
	assembled, hold := gang.Assemble(podGroup, members, func(string) (podgrouptree.Hierarchy, bool) { return podgrouptree.Hierarchy{{Key: "rack"}}, true })
	require.Nil(t, hold)
	cluster, err := kubeframework.NewOffline(t.Context(), twoRacks(), assembled.Standing)
	require.NoError(t, err)
	nodes, err := cluster.Nodes()
	require.NoError(t, err)
	answer, err := solve.Solve(t.Context(), solve.Request{
		Gang: assembled, Topologies: map[string]*kai.Topology{"topology": racksOnly}, View: clusterview.New(cluster), Nodes: nodes,
	})
	require.NoError(t, err, answer.Message)
	require.Equal(t, "Placed", answer.Verdict, answer.Message)
	found := make([]string, len(members))
	for _, member := range members {
		index, err := strconv.Atoi(member.Labels[batchv1.JobCompletionIndexAnnotation])
		if err != nil {
			continue
		}
		node := answer.Nodes[member.Name]
		if node == "" {
			node = member.Spec.NodeName
		}
		found[index], _, _ = strings.Cut(node, "-")
	}
	return found
}

func TestNeighboursByIndexStandInOneRack(t *testing.T) {
	var members []*corev1.Pod
	for _, index := range []int{3, 0, 5, 1, 4, 2} {
		members = append(members, numbered(index))
	}
	got := racksByIndex(t, members)
	assert.Len(t, slices.Compact(slices.Clone(got)), 2, "racks by index: %v", got)
}

// Two pods of the far ends were lost, and their places are the only ones left. They come back the other way round.
func TestAReplacementHasThePlaceOfItsIndex(t *testing.T) {
	members := []*corev1.Pod{
		numbered(7), numbered(0),
		numbered(1, on("r1-0")), numbered(2, on("r1-1")), numbered(3, on("r1-1")),
		numbered(4, on("r2-0")), numbered(5, on("r2-0")), numbered(6, on("r2-1")),
	}
	for i, member := range members {
		member.Name = fmt.Sprintf("p%d", i)
	}
	assert.Empty(t, cmp.Diff([]string{"r1", "r1", "r1", "r1", "r2", "r2", "r2", "r2"}, racksByIndex(t, members)),
		"racks by index")
}

// Pods without unique indices have no order.
func TestPodsWithoutIndicesOfTheirOwnStayWhereTheyArePut(t *testing.T) {
	for name, labels := range map[string]func(i int) string{
		"none":          func(int) string { return "" },
		"no number":     func(int) string { return "first" },
		"a negative":    func(i int) string { return strconv.Itoa(-i) },
		"the same ones": func(int) string { return "0" },
	} {
		t.Run(name, func(t *testing.T) {
			plain, labelled := alike(4), alike(4)
			for i, member := range labelled {
				if label := labels(i); label != "" {
					member.Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: label}
				}
			}
			want, got := decideInRack(t, plain, nil, nil).Nodes, decideInRack(t, labelled, nil, nil).Nodes
			assert.Empty(t, cmp.Diff(want, got), "(-without labels +with)")
		})
	}
}

// Pods of leaves come in any order, and those of one leaf may have no indices.
func TestEachLeafIsOrderedByItself(t *testing.T) {
	of := func(leaf string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, kai.LabelSubGroupName, leaf) }
	}
	ranked := func(index int) *corev1.Pod {
		made := numbered(index)
		of("ranked")(made)
		return made
	}
	for name, plain := range map[string][]*corev1.Pod{
		"all wait":                       {pod("a", of("plain")), pod("b", of("plain"))},
		"one stands":                     {pod("a", of("plain"), on("r1-0")), pod("b", of("plain"))},
		"they are in the middle by name": {pod("p2a", of("plain")), pod("p4a", of("plain"))},
	} {
		t.Run(name, func(t *testing.T) {
			members := slices.Clone(plain)
			for _, index := range []int{3, 0, 5, 1, 4, 2} {
				members = append(members, ranked(index))
			}
			got := racksByIndex(t, members, scheduling.SubGroup{Name: "plain", MinMember: ptr.To[int32](2)},
				scheduling.SubGroup{Name: "ranked", MinMember: ptr.To[int32](6)})[:6]
			require.Len(t, slices.Compact(slices.Clone(got)), 2, "racks by index")
			assert.NotContains(t, got, "", "racks by index")
		})
	}
}

// A leaf with one running pod that has no index is left as it is, whatever indices the others have.
func TestAPodWithoutAnIndexLeavesItsLeafAsItIs(t *testing.T) {
	members := func(labelled bool) []*corev1.Pod {
		all := []*corev1.Pod{pod("old", on("r1-0"))}
		for _, index := range []int{3, 0, 1, 2} {
			made := numbered(index)
			if !labelled {
				made.Labels = nil
			}
			all = append(all, made)
		}
		return all
	}
	want, got := decideInRack(t, members(false)[:4], nil, nil).Nodes, decideInRack(t, members(true)[:4], nil, nil).Nodes
	assert.Empty(t, cmp.Diff(want, got), "(-without labels +with)")
	assert.Len(t, got, 3, "(-without labels +with)")
}
