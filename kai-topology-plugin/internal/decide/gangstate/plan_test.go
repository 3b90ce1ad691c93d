package gangstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	mine  = gang.Key{Namespace: "default", Name: "mine"}
	other = gang.Key{Namespace: "default", Name: "other"}
)

func anyone(string) bool { return true }

func version(generation int64) Version { return Version{Generation: generation} }

// needing is a tree of a gang that needs so many pods.
func needing(pods int32) *podgrouptree.Tree {
	tree, errs := podgrouptree.New(&scheduling.PodGroupSpec{MinMember: ptr.To(pods)})
	if len(errs) > 0 {
		panic(errs)
	}
	return tree
}

// open makes a plan of a gang that needs one pod.
func (s *State) open(key gang.Key, generation int64, further bool, placements ...Placement) {
	s.change(key, func(r *record, _ *Effects) { r.open(version(generation), needing(1), further, placements) })
}

func (s *State) find(key gang.Key, generation int64, pod types.UID) (string, standing) {
	return s.record(key).find(version(generation), pod)
}

func (s *State) settled(key gang.Key, pod types.UID) (missed bool) {
	s.change(key, func(r *record, e *Effects) { missed = s.settle(e, r, pod, "", start) })
	return missed
}

// on has the scheduler put a pod on a node, and reports whether that is where the pod is to go.
func (s *State) on(key gang.Key, name, node string) bool {
	wanted, _ := s.Assumed(key, onNode(name, node), kubeframework.Sharing{})
	return wanted
}

func rejected(effects Effects) (pods []types.UID) {
	for _, rejection := range effects.Reject {
		pods = append(pods, rejection.Pod)
	}
	return pods
}

func names(pods []*corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

func pod(name string) *corev1.Pod {
	return testsupport.Stored(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})[0]
}

func onNode(name, node string) *corev1.Pod {
	placed := pod(name)
	placed.Spec.NodeName = node
	return placed
}

// twoPods is a state with a plan for two pods.
func twoPods() *State {
	state := New(anyone, nil)
	state.open(mine, 1, false, Placement{Pod: pod("a"), Node: "n1"}, Placement{Pod: pod("b"), Node: "n2"})
	return state
}

// reserved returns what a gang of some priority has to leave to gangs that are not overdue.
func (s *State) reserved(asking gang.Key, priority int32) clusterview.Reserved {
	return s.Reserved(gang.Rank{Gang: asking, Priority: priority}, nil).Room
}

func reservedNames(state *State, except gang.Key) map[string][]string {
	names := map[string][]string{}
	for node, pods := range state.reserved(except, 0) {
		for _, pod := range pods {
			names[node] = append(names[node], pod.Name)
		}
	}
	return names
}

func TestFindKnowsThePlanOfOneGenerationOnly(t *testing.T) {
	state := twoPods()
	for name, test := range map[string]struct {
		generation int64
		pod        types.UID
		node       string
		standing   standing
	}{
		"a planned pod":                     {1, "a", "n1", hasNode},
		"a pod that the plan leaves out":    {1, "c", "", leftOut},
		"a pod of a changed PodGroup":       {2, "a", "", unplanned},
		"another pod of a changed PodGroup": {2, "c", "", unplanned},
	} {
		if node, standing := state.find(mine, test.generation, test.pod); node != test.node || standing != test.standing {
			t.Errorf("%s: got %q, %v; want %q, %v", name, node, standing, test.node, test.standing)
		}
	}
}

func TestRoomIsReservedUntilThePodStands(t *testing.T) {
	state := twoPods()
	assert.Empty(t, reservedNames(state, mine), "a gang is kept from its own room")
	assert.Empty(t, cmp.Diff(map[string][]string{"n1": {"a"}, "n2": {"b"}}, reservedNames(state, other)),
		"reserved by an open plan")
	for range 2 {
		assert.True(t, state.on(mine, "a", "n1"), "a pod on its planned node is refused, at once or the second time")
	}
	assert.Empty(t, cmp.Diff(map[string][]string{"n2": {"b"}}, reservedNames(state, other)), "reserved once a stands")
	assert.False(t, state.on(mine, "b", "n1"), "a pod is accepted on another node than planned")
	permission, _ := state.Permit(mine, "a", version(1), "")
	assert.Equal(t, Go, permission, "the gang cannot be let go")
	assert.Empty(t, reservedNames(state, other), "room is still reserved for pods above the minimum")
	if node, standing := state.find(mine, 1, "b"); node != "n2" || standing != hasNode {
		t.Errorf("a pod above the minimum lost its node: %q, %v", node, standing)
	}
}

func TestAPodThatLosesItsNodeBreaksAPlanThatWaits(t *testing.T) {
	state := twoPods()
	state.on(mine, "a", "n1")
	state.on(mine, "b", "n2")
	assert.Empty(t, cmp.Diff([]types.UID{"b"}, rejected(state.Unassumed(mine, "a", start))), "pods to send back")
	permission, _ := state.Permit(mine, "b", version(1), "")
	assert.Equal(t, Return, permission, "a broken gang is let go")
	assert.Nil(t, rejected(state.Unassumed(mine, "b", start)), "the last pod sends others back")
	assert.Nil(t, rejected(state.Unassumed(mine, "b", start)), "taking a pod off its node a second time sends others back")
}

func TestAPodThatLosesItsNodeAfterTheReleaseDisturbsNoOther(t *testing.T) {
	state := twoPods()
	state.on(mine, "a", "n1")
	state.on(mine, "b", "n2")
	permission, release := state.Permit(mine, "b", version(1), "")
	if permission != Go || len(release.Allow) != 2 || release.Released == nil || state.record(mine).plan != nil {
		t.Fatalf("let go: %+v, %v", release, permission)
	}
	assert.Nil(t, rejected(state.Unassumed(mine, "a", start)), "pods of a gang that went are sent back")
	assert.Empty(t, cmp.Diff([]string{"a", "b"}, names(assumedOf(state, mine))), "on a node, or with a seat there")
	assert.False(t, state.settled(mine, "b"), "a pod that stands is still awaited")
	assert.Empty(t, cmp.Diff([]string{"a"}, names(assumedOf(state, mine))), "a bound pod is remembered")
}

// inLeaf is a member of a subgroup, on a node or without one.
func inLeaf(leaf, name, node string) *corev1.Pod {
	member := memberPod(name, node)
	member.Labels = map[string]string{kai.LabelSubGroupName: leaf}
	return member
}

// What a pod of one subgroup was planned for is no place for one of another.
func TestAPodThatComesToAnotherSubgroupIsPlannedAnew(t *testing.T) {
	before, now := inLeaf("x", "a", ""), inLeaf("y", "a", "")
	for name, test := range map[string]struct {
		happens  func(*State)
		planned  bool
		rejected []types.UID
		on       []string
	}{
		"before it is put on its node": {happens: func(*State) {}},
		"while it waits there for others": {
			happens:  func(state *State) { state.assumedOn(inLeaf("x", "a", "n1")) },
			rejected: []types.UID{"a"}, on: []string{"y"},
		},
		"while it is being bound": {
			happens: func(state *State) {
				state.assumedOn(inLeaf("x", "a", "n1"))
				state.change(mine, func(r *record, e *Effects) { state.letGo(e, r) })
			},
			planned: true, on: []string{"y"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(2, before, memberPod("b", ""))
			state.open(mine, 1, false, Placement{Pod: before, Node: "n1"}, Placement{Pod: memberPod("b", ""), Node: "n2"})
			test.happens(state)
			effects := state.PodChanged(before, now, start)
			assert.Equal(t, test.planned, state.record(mine).plan != nil, "there is a plan")
			assert.Empty(t, cmp.Diff(test.rejected, rejected(effects)), "pods to send back")
			assert.NotEqual(t, test.planned, slices.Contains(names(effects.Activate), "b"), "the other pod")
			var on []string
			for _, pod := range assumedOf(state, mine) {
				on = append(on, gang.LeafOf(pod))
			}
			assert.Empty(t, cmp.Diff(test.on, on), "subgroups of the pods on nodes")
		})
	}
}

// The planner may know what makes a pod count before the event about it comes.
func TestAPodThatWasPutOnANodeCountsAsWhatItWasThen(t *testing.T) {
	gated := memberPod("a", "")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
	for name, late := range map[string]*corev1.Pod{
		"its gate was removed": gated, "it came from another subgroup": inLeaf("x", "a", ""),
	} {
		t.Run(name, func(t *testing.T) {
			state := known(2, late, memberPod("b", ""))
			state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"},
				Placement{Pod: memberPod("b", ""), Node: "n2"})
			state.record(mine).plan.tree = needing(2)
			state.on(mine, "a", "n1")
			state.on(mine, "b", "n2")
			if permission, effects := state.Permit(mine, "b", version(1), ""); permission != Go || effects.Released == nil {
				t.Errorf("the gang is not let go: %v", permission)
			}
			assert.Empty(t, state.PodChanged(late, memberPod("a", ""), start).Broken, "word of it breaks the plan")
		})
	}
}

// Gates are removed, and never put back: what shows one is from before the pod was put on its node.
func TestOldWordOfAPodDoesNotTakeItOffItsNode(t *testing.T) {
	gated := memberPod("a", "")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
	state := known(2, memberPod("b", ""))
	state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"})
	state.on(mine, "a", "n1")
	effects := state.added(gated, start)
	assert.Zero(t, len(effects.Broken)+len(effects.Reject), "the plan is broken: %+v", effects)
	assert.Empty(t, cmp.Diff([]string{"a"}, names(assumedOf(state, mine))), "pods on nodes")
}

// A gang is planned around a running pod; the event about that pod comes after the gang's last pod has asked.
func TestAGangIsNotLeftToWaitForWordThatCameLate(t *testing.T) {
	state := known(2, memberPod("a", ""), memberPod("b", ""))
	state.open(mine, 1, false, Placement{Pod: memberPod("b", ""), Node: "n2"})
	state.record(mine).plan.tree = needing(2)
	state.on(mine, "b", "n2")
	permission, _ := state.Permit(mine, "b", version(1), "")
	require.Equal(t, Wait, permission, "the gang goes before anybody knows of its other pod")
	effects := state.PodChanged(memberPod("a", ""), memberPod("a", "n1"), start)
	assert.Empty(t, cmp.Diff([]types.UID{"b"}, rejected(effects)), "pods to send back")
	assert.Contains(t, names(effects.Activate), "b", "it is not tried again")
}

func TestAPlannedPodThatVanishesIsMissed(t *testing.T) {
	state := twoPods()
	state.on(mine, "a", "n1")
	assert.True(t, state.settled(mine, "b"), "nobody misses a planned pod")
	effects := state.Break(mine, PodLost, "test")
	assert.Empty(t, cmp.Diff([]types.UID{"a"}, rejected(effects)))
	assert.Len(t, effects.Broken, 1)
	assert.Empty(t, state.Break(mine, PodLost, "test").Broken, "a plan is broken twice")
}

// The placement of a gang is known from its plan until the plan is broken, and not to a later gang of the same name.
func TestHowAGangWasPlacedIsThatOfItsLastPlan(t *testing.T) {
	member := memberPod("b", "")
	asked := &gang.Gang{PodGroup: groupOf(1), Tree: needing(1), Pending: []*corev1.Pod{member}}
	answer := &solve.Answer{
		Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"b": "n1"}, Groups: []solve.Group{{Placed: 1, Used: 2}},
	}
	state := known(1, member)
	plan := func() {
		state.Planned(asked, version(1), nil, answer, []Placement{{Pod: member, Node: "n1"}}, Taking{}, start)
	}
	expect := func(when string, want *scheduling.PlacementStatus) {
		t.Helper()
		assert.Empty(t, cmp.Diff(want, state.Status(asked.PodGroup).Placement), "%s (-want +got)", when)
	}
	two := &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestNotProved}
	expect("before", nil)
	plan()
	expect("planned", two)
	state.Break(mine, GangChanged, "changed")
	expect("broken", nil)
	plan()
	answer.Optimal = true
	plan()
	expect("planned anew", &scheduling.PlacementStatus{Domains: 2, Fewest: scheduling.FewestYes})
	_, effects := state.Assumed(mine, memberPod("b", "n1"), kubeframework.Sharing{})
	_, more := state.Permit(mine, "b", version(1), "")
	released := effects.Released
	if released == nil {
		released = more.Released
	}
	if released == nil || released.Placement == nil || released.Placement.Fewest != scheduling.FewestYes {
		t.Errorf("let go as %+v", released)
	}
	asked.PodGroup = asked.PodGroup.DeepCopy()
	asked.PodGroup.UID = "another"
	expect("another PodGroup of the name", nil)
}

func assumedOf(state *State, key gang.Key) []*corev1.Pod {
	assumed, _ := state.Unshown(key)
	return assumed
}
