package solve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Yes is only said of what was searched as it is: of all pods that are there, of no others, and by all rules that they have.
func TestHowCloseTogetherAGangIsPlaced(t *testing.T) {
	yes := func(domains int32) *scheduling.PlacementStatus {
		return &scheduling.PlacementStatus{Domains: domains, Fewest: scheduling.FewestYes}
	}
	notProved := func(domains int32) *scheduling.PlacementStatus {
		return &scheduling.PlacementStatus{Domains: domains, Fewest: scheduling.FewestNotProved}
	}
	twoLeaves := groups(nil, scheduling.PodGroupSpec{
		TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", PreferredTopologyLevel: "rack"},
		SubGroups: []scheduling.SubGroup{
			{Name: "a", MinMember: ptr.To[int32](2), TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", PreferredTopologyLevel: "rack"}},
			{Name: "b", MinMember: ptr.To[int32](2), TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"}},
		},
	})
	for name, c := range map[string]struct {
		rooms    []int
		podGroup *scheduling.PodGroup
		pods     []*corev1.Pod
		want     *scheduling.PlacementStatus
	}{
		"one rack holds all":                           {rooms: []int{3, 4}, podGroup: leaf(4, 0, fewRacks), pods: members("", 4), want: yes(1)},
		"no rack holds all":                            {rooms: []int{3, 4, 2}, podGroup: leaf(5, 0, fewRacks), pods: members("", 5), want: yes(2)},
		"as many pods as there is room for":            {rooms: []int{2, 1}, podGroup: leaf(1, 0, fewRacks), pods: members("", 4), want: yes(2)},
		"beside pods that stand, those racks count":    {rooms: []int{1, 2}, podGroup: leaf(2, 0, fewRacks), pods: append(members("", 1, on("r0-0")), members("late", 1, plain)...), want: yes(2)},
		"groups that prefer a level are added up":      {rooms: []int{2, 2}, podGroup: twoLeaves, pods: append(members("a", 2), members("b", 2)...), want: yes(3)},
		"what only requires a level has none":          {rooms: []int{4}, podGroup: leaf(2, 0, oneRack), pods: members("", 2)},
		"beside pods that are expected nobody knows":   {rooms: []int{1, 1, 1}, podGroup: leaf(2, 3, fewRacks), pods: members("", 2), want: notProved(2)},
		"but one rack is one rack":                     {rooms: []int{1, 3}, podGroup: leaf(2, 3, fewRacks), pods: members("", 2), want: yes(1)},
		"rules among the pods are not proved":          {rooms: []int{1, 1}, podGroup: leaf(2, 0, fewRacks), pods: members("", 2, apart), want: notProved(2)},
		"and one rack is one rack by rules as well":    {rooms: []int{2, 1}, podGroup: leaf(2, 0, fewRacks), pods: members("", 2, apart), want: yes(1)},
		"of a gang that does not fit there is nothing": {rooms: []int{1}, podGroup: leaf(2, 0, fewRacks), pods: members("", 2)},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, answer := decide(t, racksOf(c.rooms...), c.podGroup, c.pods)
			if diff := cmp.Diff(c.want, answer.Placement(len(assembled.Pending))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", answer.Message, diff)
			}
		})
	}
}

// plain makes a pod of another leaf one of the gang itself.
func plain(pod *corev1.Pod) { delete(pod.Labels, kai.LabelSubGroupName) }
