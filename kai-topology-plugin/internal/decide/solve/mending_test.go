package solve_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// stood has a PodGroup say that its gang has started.
func stood(podGroup *scheduling.PodGroup) *scheduling.PodGroup {
	podGroup.Status.Conditions = []metav1.Condition{{
		Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse, Reason: scheduling.ReasonBelowMinimum,
	}}
	return podGroup
}

func TestAGangThatStandsIsMendedAsFarAsPossible(t *testing.T) {
	standing := append(members("s", 1, plain, on("r0-0")), members("t", 1, plain, on("r0-1"))...)
	for name, c := range map[string]struct {
		podGroup *scheduling.PodGroup
		pods     []*corev1.Pod
		verdict  string
		placed   int
	}{
		"whole, if it can be":       {stood(leaf(3, 0, oneRack)), members("p", 1, plain), "Placed", 1},
		"by one of two":             {stood(leaf(4, 0, oneRack)), members("p", 2, plain), "Infeasible", 1},
		"with pods yet to be made":  {stood(leaf(9, 0, oneRack)), members("p", 1, plain), "Incomplete", 1},
		"not before it has started": {leaf(4, 0, oneRack), members("p", 2, plain), "Infeasible", 0},
		"not where it does not stand": {stood(leaf(4, 0, oneRack)),
			members("p", 2, plain, func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"rack": "r1"} }),
			"Infeasible", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, answer := decide(t, racksOf(3, 3), c.podGroup, append(slices.Clone(standing), c.pods...))
			if answer.Verdict != c.verdict || len(answer.Nodes) != c.placed {
				t.Errorf("%s with %v, want %s with %d pods: %s", answer.Verdict, answer.Nodes, c.verdict, c.placed,
					answer.Message)
			}
			for _, node := range answer.Nodes {
				assert.Equal(t, "r0-2", node)
			}
		})
	}
}

// The gang needs one of its subgroups, and another one has lost pods. The remaining pods of that subgroup are of no use
// alone, and get back the lost pods that fit; a subgroup without pods begins as a whole.
func TestAGroupThatTheGangCanDoWithoutIsMended(t *testing.T) {
	podGroup := stood(groups(nil, scheduling.PodGroupSpec{MinSubGroup: ptr.To[int32](1), SubGroups: []scheduling.SubGroup{
		{Name: "core", MinMember: ptr.To[int32](1)}, {Name: "more", MinMember: ptr.To[int32](3)},
	}}))
	core, left := members("core", 1, on("r0-0")), members("more", 1, on("r0-1"))
	for name, c := range map[string]struct {
		room   int
		pods   []*corev1.Pod
		placed int
	}{
		"by one of two":       {3, slices.Concat(core, left, members("again", 2, of("more"))), 1},
		"by both":             {4, slices.Concat(core, left, members("again", 2, of("more"))), 2},
		"with one to be made": {3, slices.Concat(core, left, members("again", 1, of("more"))), 1},
		"not from nothing":    {3, slices.Concat(core, members("again", 3, of("more"))), 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, answer := decide(t, racksOf(c.room), podGroup, c.pods)
			if answer.Verdict != scheduling.ReasonPlaced || len(answer.Nodes) != c.placed {
				t.Errorf("%s with %v: %s", answer.Verdict, answer.Nodes, answer.Message)
			}
		})
	}
}

// A node is deleted under a pod of a group that must stand in one rack. Which rack that is, is not known: the other
// pods of the group wait until the pod is gone or the node is back, and pods of other groups do not.
func TestAGroupOnAnUnknownNodeWaitsUntilItIsKnownWhereItStands(t *testing.T) {
	stays := members("a", 1, on("lost"))
	lost := slices.Concat(members("a-next", 1, of("a")), members("b-next", 1, of("b")))
	rack := &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"}
	pairs := stood(groups(nil, scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{
		{Name: "a", MinMember: ptr.To[int32](2), TopologyConstraint: rack},
		{Name: "b", MinMember: ptr.To[int32](2), TopologyConstraint: rack},
	}}))
	for name, c := range map[string]struct {
		podGroup *scheduling.PodGroup
		pods     []*corev1.Pod
		placed   []string
		waits    bool
	}{
		"its other pods wait": {stood(leaf(2, 0, oneRack)),
			slices.Concat(members("s", 1, plain, on("lost")), members("p", 1, plain)), nil, true},
		"not once the pod is leaving": {stood(leaf(2, 0, oneRack)),
			slices.Concat(members("s", 1, plain, on("lost"), leaving), members("p", 2, plain)), []string{"p0", "p1"}, false},
		"not where a level is preferred": {stood(leaf(2, 0, fewRacks)),
			slices.Concat(members("s", 1, plain, on("lost")), members("p", 1, plain)), []string{"p0"}, false},
		"not where another pod of it runs": {stood(leaf(3, 0, oneRack)),
			slices.Concat(members("s", 1, plain, on("lost")), members("t", 1, plain, on("r0-0")), members("p", 1, plain)),
			[]string{"p0"}, false},
		"but other groups are mended": {pairs,
			slices.Concat(stays, members("b", 1, on("r0-0")), lost), []string{"b-next0"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, answer := decide(t, racksOf(3, 3), c.podGroup, c.pods)
			got := slices.Sorted(maps.Keys(answer.Nodes))
			assert.True(t, slices.Equal(got, c.placed), "%v are placed, want %v", got, c.placed)
			waits := answer.Verdict == scheduling.ReasonIncomplete && strings.Contains(answer.Message, "runs on node lost")
			assert.Equal(t, c.waits, waits, "%s: %s", answer.Verdict, answer.Message)
		})
	}
}

func leaving(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }

// Of two pairs that must each stand in one rack, one has lost a pod that has no place, and the other one both. This
// one is begun anew as a whole: a pod alone would hold the other one to a rack without room for it.
func TestAPairThatLostBothPodsIsBegunAsAWhole(t *testing.T) {
	pairs := func() *scheduling.PodGroup {
		spec := scheduling.PodGroupSpec{}
		for _, pair := range []string{"one", "two"} {
			spec.SubGroups = append(spec.SubGroups,
				scheduling.SubGroup{Name: pair, TopologyConstraint: &scheduling.TopologyConstraint{
					Topology: "network", RequiredTopologyLevel: "rack"}},
				scheduling.SubGroup{Name: pair + "-leader", Parent: &pair, MinMember: ptr.To[int32](1)},
				scheduling.SubGroup{Name: pair + "-worker", Parent: &pair, MinMember: ptr.To[int32](1)})
		}
		return stood(groups(nil, spec))
	}
	stands := members("one-leader", 1, on("r0-0"))
	lost := slices.Concat(members("one-worker", 1), members("two-leader", 1), members("two-worker", 1))
	for name, c := range map[string]struct {
		racks  []int
		pods   []*corev1.Pod
		placed map[string]string
	}{
		"in a rack with room for both": {[]int{1, 1, 2}, lost,
			map[string]string{"two-leader0": "r2", "two-worker0": "r2"}},
		"or waits as a whole":           {[]int{1, 1, 1}, lost, nil},
		"also if one is yet to be made": {[]int{1, 1, 2}, lost[:2], nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, answer := decide(t, racksOf(c.racks...), pairs(), slices.Concat(stands, c.pods))
			got := map[string]string{}
			for pod, node := range answer.Nodes {
				got[pod], _, _ = strings.Cut(node, "-")
			}
			if answer.Verdict == scheduling.ReasonPlaced || !maps.Equal(got, c.placed) {
				t.Errorf("%s with %v, want %v: %s", answer.Verdict, answer.Nodes, c.placed, answer.Message)
			}
		})
	}
}

// Of leaves that must each stand in one rack, any pod that has room beside the others of its leaf gets it, and with it
// the last one that left its place: the place is free. None goes elsewhere, and no subgroup starts by halves.
func TestAPodOfAGangThatStandsIsLeftOutOnlyWithoutAPlace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rooms := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3).Draw(rt, "rooms")
		nodes := racksOf(rooms...)
		spec := scheduling.PodGroupSpec{}
		if rapid.Bool().Draw(rt, "one may be missing") {
			spec.MinSubGroup = ptr.To[int32](1)
		}
		var pods []*corev1.Pod
		free, rack := map[string]int{}, map[string]string{}
		for i, room := range rooms {
			free[fmt.Sprint("r", i)] = room
		}
		taken := map[string]bool{}
		for _, name := range []string{"a", "b"} {
			least := rapid.Int32Range(1, 3).Draw(rt, "needs")
			spec.SubGroups = append(spec.SubGroups, scheduling.SubGroup{
				Name: name, MinMember: &least,
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "network", RequiredTopologyLevel: "rack"},
			})
			at := fmt.Sprint("r", rapid.IntRange(0, len(rooms)-1).Draw(rt, "rack"))
			for range rapid.IntRange(0, 2).Draw(rt, "stand") {
				for _, node := range nodes {
					if strings.HasPrefix(node.Name, at) && !taken[node.Name] {
						taken[node.Name], rack[name] = true, at
						free[at]--
						pods = append(pods, members(name+fmt.Sprint("s", len(pods)), 1, of(name), on(node.Name))...)
						break
					}
				}
			}
			pods = append(pods, members(name+"p", rapid.IntRange(0, 2).Draw(rt, "wait"), of(name))...)
		}
		podGroup := stood(groups(nil, spec))
		assembled, answer := decide(t, nodes, podGroup, pods)
		if !assembled.Mends() || answer.Verdict == scheduling.ReasonPlaced {
			return
		}
		counts := map[string]int{}
		for pod, node := range answer.Nodes {
			at, _, _ := strings.Cut(node, "-")
			name := pod[:1]
			if free[at]--; rack[name] != "" && rack[name] != at || free[at] < 0 {
				rt.Fatalf("%v: %s does not belong there", answer.Nodes, pod)
			}
			counts[name]++
		}
		for i := range spec.SubGroups {
			name, least := spec.SubGroups[i].Name, int(*spec.SubGroups[i].MinMember)
			switch left := pending(assembled.Pending, name) - counts[name]; {
			case rack[name] == "" && counts[name] > 0 && counts[name] < least:
				rt.Fatalf("%v: subgroup %s starts by halves", answer.Nodes, name)
			case left > 0 && rack[name] != "" && free[rack[name]] > 0:
				rt.Fatalf("%v: a pod of %s is left out, and rack %s has room; %s", answer.Nodes, name, rack[name],
					answer.Message)
			}
		}
	})
}

func of(leaf string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[kai.LabelSubGroupName] = leaf }
}

func pending(pods []*corev1.Pod, leaf string) (count int) {
	for _, pod := range pods {
		if strings.HasPrefix(pod.Name, leaf) {
			count++
		}
	}
	return count
}
