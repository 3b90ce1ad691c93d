package gangstate

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// shown is a cluster of nodes that have room for one pod each.
type shown struct {
	version Version
	pods    map[types.UID]*corev1.Pod
	// nodes have the pods that they show; one that is not there cannot be read.
	nodes map[string][]types.UID
}

// asRead shows a gang as it was read.
func asRead(asked *gang.Gang, version Version) *shown {
	seen := &shown{version: version, pods: map[types.UID]*corev1.Pod{}}
	for _, pod := range slices.Concat(asked.Pending, asked.Standing) {
		seen.pods[pod.UID] = pod
	}
	return seen
}

var errNoNode = errors.New("no such node")

func (s *shown) Version(gang.Key) (Version, bool) { return s.version, s.version != Version{} }

func (s *shown) Pod(pod *corev1.Pod) *corev1.Pod { return s.pods[pod.UID] }

func (s *shown) Shows(node string, pod types.UID) (bool, error) {
	pods, there := s.nodes[node]
	if !there {
		return false, errNoNode
	}
	return slices.Contains(pods, pod), nil
}

func (s *shown) Displaces(node string, coming []*corev1.Pod, _ *corev1.Pod) (bool, error) {
	pods, there := s.nodes[node]
	if !there {
		return false, errNoNode
	}
	return len(pods) == 0 && len(coming) > 0, nil
}

// plannedPair is a gang with a running pod "stands" on n0 and a pod "comes" that is planned for n1, and what is shown
// of them.
func plannedPair(t *testing.T) (*State, *gang.Gang, []Placement, *shown) {
	t.Helper()
	stands, comes := memberPod("stands", "n0"), memberPod("comes", "")
	state := New(anyone, nil)
	state.PodGroupChanged(nil, groupOf(2), start)
	for _, node := range []string{"n0", "n1", "n2"} {
		state.nodeSeen(nodeNamed(node))
	}
	for _, pod := range []*corev1.Pod{stands, comes} {
		state.added(pod, start)
	}
	state.Opened(start)
	asked, held := gang.AssembleFor(anyone, groupOf(2), []*corev1.Pod{stands, comes}, state.levels)
	require.Nil(t, held)
	placements := []Placement{{Pod: comes, Node: "n1"}}
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"comes": "n1"}}
	state.Planned(asked, version(1), comes, answer, placements, Taking{}, start)
	return state, asked, placements, &shown{
		version: version(1),
		pods:    map[types.UID]*corev1.Pod{"stands": stands, "comes": comes},
		nodes:   map[string][]types.UID{"n0": {"stands"}, "n1": nil, "n2": nil},
	}
}

// changed returns a pod as an update leaves it.
func changed(pod *corev1.Pod, update func(*corev1.Pod)) *corev1.Pod {
	now := pod.DeepCopy()
	update(now)
	return now
}

func TestAPlanIsBrokenIfOneOfItsPodsIsBeingBoundForTheGangInWhichItWas(t *testing.T) {
	state, asked, placements, shown := plannedPair(t)
	state.record(mine).assumed["comes"] = &assumed{pod: gang.On("n2", shown.pods["comes"]), letGo: true}
	changed, effects := state.Confirm(asked, version(1), placements, shown)
	assert.Equal(t, "the gang is planned again: pod comes came from another gang", changed)
	assert.Len(t, effects.Broken, 1)
	assert.Empty(t, cmp.Diff(map[types.UID]string{"comes": "n2"}, state.nodeOf(mine)))
}

// otherSeat lets a pod of another gang run on n1 and leave it; the event comes while the gang is decided.
func otherSeat(state *State, priority int32) {
	group := groupOf(1)
	group.Name, group.UID = other.Name, "theirs"
	state.PodGroupChanged(nil, group, start)
	theirs := ownedPod("theirs", "n1")
	theirs.Annotations[scheduling.AnnotationPodGroupName] = other.Name
	theirs.Spec.Priority = ptr.To(priority)
	state.added(theirs, start)
	state.deleted(theirs, start)
}

func TestAPlanHoldsOnlyIfWhatItWasMadeOfIsAsItWas(t *testing.T) {
	for claim, test := range map[string]struct {
		happens func(*State, *shown)
		// broken is what is said of it; empty if the plan holds.
		broken string
		// seats are the seats that are held in the end.
		seats []string
	}{
		"nothing has changed": {happens: func(*State, *shown) {}},
		"a pod that comes has another status": {happens: func(_ *State, shown *shown) {
			shown.pods["comes"] = changed(shown.pods["comes"], func(pod *corev1.Pod) { pod.Status.Message = "waits" })
		}},
		"its PodGroup is gone": {
			happens: func(_ *State, shown *shown) { shown.version = Version{} },
			broken:  "its PodGroup was changed",
		},
		"its PodGroup says something else": {
			happens: func(_ *State, shown *shown) { shown.version = version(2) },
			broken:  version(1).ChangedTo(version(2)),
		},
		"a pod that stood is gone": {
			happens: func(_ *State, shown *shown) { delete(shown.pods, "stands") },
			broken:  "pod stands lost its node",
		},
		"a pod that stood is leaving": {
			happens: func(_ *State, shown *shown) {
				shown.pods["stands"] = changed(shown.pods["stands"], func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.Now()) })
			},
			broken: "pod stands lost its node",
		},
		"a pod that comes is gone": {
			happens: func(_ *State, shown *shown) { delete(shown.pods, "comes") },
			broken:  "pod comes was changed",
		},
		"a pod that comes asks for something else": {
			happens: func(_ *State, shown *shown) {
				shown.pods["comes"] = changed(shown.pods["comes"], func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} })
			},
			broken: "pod comes was changed",
		},
		"a pod left the node, and no word of it has come": {
			happens: func(state *State, _ *shown) {
				left := ownedPod("left", "n1")
				left.Annotations[scheduling.AnnotationPodGroupName] = other.Name
				state.added(left, start)
			},
			broken: "a pod left node n1",
		},
		"the room is held for a successor": {
			happens: func(state *State, _ *shown) { otherSeat(state, 0) },
			broken:  "room on node n1 is held for the replacement of pod theirs",
			seats:   []string{"theirs"},
		},
		"the room is held for a successor that is less important": {happens: func(state *State, _ *shown) { otherSeat(state, -1) }},
		"the room of a seat is taken already": {
			happens: func(state *State, shown *shown) { otherSeat(state, 0); shown.nodes["n1"] = []types.UID{"x"} },
			seats:   []string{"theirs"},
		},
		"the node cannot be read": {
			happens: func(state *State, shown *shown) { otherSeat(state, 0); delete(shown.nodes, "n1") },
			broken:  errNoNode.Error(),
			seats:   []string{"theirs"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			state, asked, placements, shown := plannedPair(t)
			test.happens(state, shown)
			said, effects := state.Confirm(asked, version(1), placements, shown)
			assert.Equal(t, test.broken == "", said == "")
			assert.Contains(t, said, test.broken)
			if (len(effects.Broken) > 0) != (test.broken != "") || (len(state.nodeOf(mine)) > 0) != (test.broken == "") {
				t.Errorf("the plan has %v and %+v is to be done, want it broken: %t", state.nodeOf(mine), effects.Broken, test.broken != "")
			}
			assert.Empty(t, cmp.Diff(test.seats, names(state.seatsOn("n1", mine))), "seats")
		})
	}
}

// The event names the pod that got the room, and the seat of the gang itself is in no pod's way.
func TestAPodWithoutAGangTakesSeatsOfLessImportantGangsAlone(t *testing.T) {
	state, _, _, shown := plannedPair(t)
	otherSeat(state, 4)
	coming := map[string][]*corev1.Pod{"n1": {pod("x")}}
	for _, priority := range []int32{3, 4} {
		said, effects, err := state.Respect(Taker{Name: "pod default/x", Priority: priority}, coming, shown)
		if err != nil || !strings.Contains(said, "room on node n1 is held") || len(effects.Seats) > 0 {
			t.Errorf("priority %d: it says %q, %v, and gives up %+v", priority, said, err, effects.Seats)
		}
	}
	said, _, err := state.Respect(Taker{Name: "gang", Gang: other, Priority: 0}, coming, shown)
	require.NoError(t, err)
	assert.Empty(t, said)
	said, effects, err := state.Respect(Taker{Name: "pod default/x", Priority: 5}, coming, shown)
	want := []SeatChange{{Gang: other, Pod: "theirs", Node: "n1", Ended: SeatTaken, By: "pod default/x"}}
	if diff := cmp.Diff(want, effects.Seats); err != nil || said != "" || diff != "" {
		t.Errorf("it says %q, %v, and gives up (-want +got):\n%s", said, err, diff)
	}
	left := state.seatsOn("n1", mine)
	assert.Empty(t, left, "seats are left: %v", names(left))
}

// Where one of several nodes is lost, no seat is given up on the others: no pod comes.
func TestNoSeatIsGivenUpForAPlanThatIsBroken(t *testing.T) {
	state, asked, placements, shown := plannedPair(t)
	left := ownedPod("left", "n2")
	left.Annotations[scheduling.AnnotationPodGroupName] = other.Name
	state.added(left, start)
	otherSeat(state, -1)
	further := memberPod("further", "")
	asked.Pending, shown.pods["further"] = append(asked.Pending, further), further
	placements = append(placements, Placement{Pod: further, Node: "n2"})
	said, effects := state.Confirm(asked, version(1), placements, shown)
	if said != "the gang is planned again: a pod left node n2" || len(effects.Seats) > 0 || len(state.seatsOn("n1", mine)) != 1 {
		t.Errorf("it says %q, and gives up %+v", said, effects.Seats)
	}
	assert.Empty(t, slices.Collect(maps.Values(state.nodeOf(mine))), "the plan stands")
}

// Word that a pod was bound, and that it has failed since, may both be under way when its node has room again.
func TestAPodThatWasPutOnANodeIsMissedThere(t *testing.T) {
	state, _, _, shown := plannedPair(t)
	comes := ownedPod("comes", "n1")
	coming := map[string][]*corev1.Pod{"n1": {pod("x")}}
	respected := func() string {
		said, _, err := state.Respect(Taker{Name: "pod default/x"}, coming, shown)
		require.NoError(t, err)
		return said
	}
	require.True(t, state.assumedOn(comes), "the plan does not want the pod")
	assert.Equal(t, "the gang is planned again: a pod left node n1", respected(),
		"a pod that was put on the node, and is not there")
	shown.nodes["n1"] = []types.UID{"comes"}
	assert.Empty(t, respected(), "the node shows the pod")
	shown.nodes["n1"] = nil
	state.Unassumed(mine, comes.UID, start)
	assert.Empty(t, respected(), "the pod was taken off the node again")
}

// A pod above the minimum may lose the room that it is to go to, but not the seat there that its gang holds.
func TestASeatIsHeldUntilRoomIsKeptForItsSuccessor(t *testing.T) {
	state := standingPair()
	state.deleted(ownedPod("a", "n1"), start)
	first, further := ownedPod("c", ""), ownedPod("d", "")
	state.added(first, start)
	state.added(further, start)
	asked, held := gang.AssembleFor(anyone, groupOf(1), []*corev1.Pod{first, further}, state.levels)
	require.Nil(t, held)
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"c": "n3", "d": "n1"}}
	state.Planned(asked, version(1), first, answer, []Placement{{Pod: first, Node: "n3"}, {Pod: further, Node: "n1"}}, Taking{}, start)
	if got := reservedNames(state, other); !maps.EqualFunc(got, map[string][]string{"n1": {"d"}, "n3": {"c"}}, slices.Equal) {
		t.Errorf("before it is let go, room is kept for %v", got)
	}
	state.assumedOn(ownedPod("c", "n3"))
	permission, _ := state.Permit(mine, "c", version(1), "")
	require.Equal(t, Go, permission, "the gang is not let go")
	assert.Empty(t, cmp.Diff(seatOfA, reservedNames(state, other)), "afterwards room is kept for")
}
