package solve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// Yes is only said of what was searched as it is: of all pods that are there, of no others, and by all rules that they
// have.
func TestHowCloseTogetherAGangIsPlaced(t *testing.T) {
	yes := func(domains int32) *scheduling.PlacementStatus {
		return &scheduling.PlacementStatus{Domains: domains, Fewest: scheduling.FewestYes}
	}
	notProved := func(domains int32) *scheduling.PlacementStatus {
		return &scheduling.PlacementStatus{Domains: domains, Fewest: scheduling.FewestNotProved}
	}
	rack := func(constraint scheduling.TopologyConstraint) *scheduling.TopologyConstraint {
		constraint.Topology = "network"
		return &constraint
	}
	twoLeaves := groups(nil, scheduling.PodGroupSpec{
		TopologyConstraint: rack(fewRacks),
		SubGroups: []scheduling.SubGroup{
			{Name: "a", MinMember: ptr.To[int32](2), TopologyConstraint: rack(fewRacks)},
			{Name: "b", MinMember: ptr.To[int32](2), TopologyConstraint: rack(oneRack)},
		},
	})
	both := append(members("a", 2), members("b", 2)...)
	some := append(members("a", 1), members("b", 2)...)
	late := append(members("", 1, on("r0-0")), members("late", 1, plain)...)
	growing := groups(podgrouptree.Expected{"a": 4, "b": 2}, scheduling.PodGroupSpec{
		TopologyConstraint: rack(fewRacks),
		SubGroups: []scheduling.SubGroup{{Name: "a", MinMember: ptr.To[int32](1)},
			{Name: "b", MinMember: ptr.To[int32](1)}},
	})
	for name, c := range map[string]struct {
		rooms    []int
		podGroup *scheduling.PodGroup
		pods     []*corev1.Pod
		want     *scheduling.PlacementStatus
	}{
		"one rack holds all":                         {[]int{3, 4}, leaf(4, 0, fewRacks), members("", 4), yes(1)},
		"no rack holds all":                          {[]int{3, 4, 2}, leaf(5, 0, fewRacks), members("", 5), yes(2)},
		"as many pods as there is room for":          {[]int{2, 1}, leaf(1, 0, fewRacks), members("", 4), yes(2)},
		"beside pods that stand, those racks count":  {[]int{1, 2}, leaf(2, 0, fewRacks), late, yes(2)},
		"groups that prefer a level are added up":    {[]int{2, 2}, twoLeaves, both, yes(3)},
		"what only requires a level has no number":   {[]int{4}, leaf(2, 0, oneRack), members("", 2), nil},
		"beside pods that are expected nobody knows": {[]int{1, 1, 1}, leaf(2, 3, fewRacks), members("", 2), notProved(2)},
		"but one rack is one rack":                   {[]int{1, 3}, leaf(2, 3, fewRacks), members("", 2), yes(1)},
		"nor after a second search for who is there": {[]int{1, 1, 1}, growing, some, notProved(3)},
		"rules among the pods are not proved": {[]int{1, 1}, leaf(2, 0, fewRacks), members("", 2, apart),
			notProved(2)},
		"and one rack is one rack by rules as well":    {[]int{2, 1}, leaf(2, 0, fewRacks), members("", 2, apart), yes(1)},
		"of a gang that does not fit there is nothing": {[]int{1}, leaf(2, 0, fewRacks), members("", 2), nil},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, answer := decide(t, racksOf(c.rooms...), c.podGroup, c.pods)
			assert.Empty(t, cmp.Diff(c.want, answer.Placement(len(assembled.Pending))), "%s (-want +got)", answer.Message)
		})
	}
}

// plain makes a pod of another leaf one of the gang itself.
func plain(pod *corev1.Pod) { delete(pod.Labels, kai.LabelSubGroupName) }

// Alone the gang would stand in one rack. With a follower, the fewest domains were not searched for.
func TestAGangThatLeavesRoomForFollowersIsNotProvedToBeInTheFewest(t *testing.T) {
	sharing := func(name string, constraint scheduling.TopologyConstraint) *scheduling.PodGroup {
		podGroup := leaf(2, 0, constraint)
		podGroup.Name = name
		podGroup.Annotations[scheduling.AnnotationBaseGang] = "gang"
		podGroup.Annotations[scheduling.AnnotationSharedTopology] = "network"
		podGroup.Annotations[scheduling.AnnotationSharedRequired] = "zone"
		return podGroup
	}
	follower := assemble(t, sharing("follower", oneRack), members("f", 2, plain))
	assembled, answer := decide(t, racksOf(2, 1, 1), sharing("gang", fewRacks), members("", 2), follower)
	want := &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestNotProved}
	assert.Empty(t, cmp.Diff(want, answer.Placement(len(assembled.Pending))), "%s: %v", answer.Message, answer.Nodes)
}
