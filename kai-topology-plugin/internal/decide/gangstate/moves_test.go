package gangstate

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// moved is a state with a gang that has one pod on n1, to be moved to n3, and one lost pod, to come to n4.
func moved(t *testing.T) (*State, *corev1.Pod) {
	t.Helper()
	state := New(anyone, nil)
	state.opened = true
	for i := range 5 {
		state.nodeSeen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}})
	}
	state.PodGroupChanged(nil, movedGroup(), start)
	stands := ownedPod("stands", "")
	stands.Spec.NodeName = "n1"
	state.added(stands, start)
	return state, stands
}

func movedGroup() *scheduling.PodGroup {
	podGroup := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: mine.Namespace, Name: mine.Name, UID: "group"},
	}
	podGroup.Spec.MinMember = ptr.To[int32](2)
	podGroup.Annotations = map[string]string{scheduling.AnnotationExpectedPods: `{"":2}`}
	return podGroup
}

// seatsIn is where seats are held for a move, by the pods for which they are.
func seatsIn(state *State, key gang.Key) map[string]string {
	found := map[string]string{}
	seats, _ := state.moveSeats(key)
	for _, seat := range seats {
		found[seat.Pod.Name] = seat.Node
	}
	return found
}

func hold(state *State, stands *corev1.Pod) Effects {
	return holdSince(state, stands, state.Now())
}

func holdSince(state *State, stands *corev1.Pod, began Moment) Effects {
	_, effects := state.HoldMove(mine, Move{Until: start.Add(time.Minute), Began: began, Seats: []Placement{
		{Pod: gang.Replacement(stands), Node: "n3"}, {Pod: ownedPod("again", ""), Node: "n4"},
	}}, stay, start)
	return effects
}

// stay is for pods that none has left its node without word.
func stay(*corev1.Pod) bool { return false }

// proceeds changes a move of gang mine.
func proceeds(state *State, change func(*Move)) {
	move := state.MoveOf(movedGroup())
	change(&move)
	state.Proceed(mine, move)
}

var bothSeats = map[string]string{"stands": "n3", "again": "n4"}

func TestSeatsOfAMoveAreKeptFromOthersAlone(t *testing.T) {
	state, stands := moved(t)
	effects := hold(state, stands)
	if len(effects.Seats) != 2 || effects.Again != time.Minute || len(effects.WriteStatus) == 0 {
		t.Errorf("effects %+v", effects)
	}
	assert.Empty(t, cmp.Diff(map[string][]string{"n3": {"stands"}, "n4": {"again"}}, reservedNames(state, other)),
		"reserved from others")
	assert.Empty(t, state.reserved(mine, 0), "reserved from the gang itself")
	assert.Empty(t, state.Reserved(gang.Rank{Gang: other}, sets.New(mine)).Room, "reserved beside its move")
	assert.Len(t, state.Reserved(gang.Rank{Gang: other}, sets.New(other)).Room, 2, "reserved beside the move of another")
	assert.Len(t, hold(state, stands).Seats, 4, "seats that take the place of others")
	assert.Empty(t, cmp.Diff(bothSeats, seatsIn(state, mine)))
	strange := Move{Seats: []Placement{{Pod: pod("x"), Node: "n0"}}}
	if held, got := state.HoldMove(other, strange, stay, start); held || len(got.Seats) > 0 {
		t.Error("seats are held for a gang that is not there")
	}
}

func TestWhatBecomesOfSeatsOfAMove(t *testing.T) {
	bound := func(state *State, name, node string) {
		comes := ownedPod(name, "")
		state.added(comes, start)
		stands := comes.DeepCopy()
		stands.Spec.NodeName = node
		state.PodChanged(comes, stands, start)
	}
	leaves := func(state *State, stands *corev1.Pod) *corev1.Pod {
		leaving := stands.DeepCopy()
		leaving.DeletionTimestamp = ptr.To(metav1.NewTime(start))
		state.PodChanged(stands, leaving, start)
		return leaving
	}
	for name, c := range map[string]struct {
		happens func(state *State, stands *corev1.Pod)
		want    map[string]string
		// room is what is kept from others beyond that.
		room map[string][]string
	}{
		"the pod that moves leaves, and keeps no room where it stood": {func(state *State, stands *corev1.Pod) {
			state.deleted(leaves(state, stands), start)
		}, bothSeats, nil},
		"the PodGroup changes while it stands yet": {func(state *State, _ *corev1.Pod) {
			changed := movedGroup()
			changed.Generation = 2
			state.PodGroupChanged(movedGroup(), changed, start)
		}, bothSeats, nil},
		"a successor is bound to its seat": {func(state *State, stands *corev1.Pod) {
			leaves(state, stands)
			bound(state, "new", "n4")
		}, map[string]string{"stands": "n3"}, nil},
		"all are bound": {func(state *State, stands *corev1.Pod) {
			leaves(state, stands)
			bound(state, "new", "n4")
			bound(state, "newer", "n3")
		}, map[string]string{}, nil},
		"their time is up": {func(state *State, _ *corev1.Pod) { state.Tick(start.Add(time.Minute)) },
			map[string]string{}, nil},
		"their time was extended": {func(state *State, _ *corev1.Pod) {
			proceeds(state, func(move *Move) { move.Until = start.Add(time.Hour) })
			state.Tick(start.Add(time.Minute))
		}, bothSeats, nil},
		"a node is gone": {func(state *State, _ *corev1.Pod) { state.nodeGone("n3") },
			map[string]string{"again": "n4"}, nil},
		"somebody takes one": {func(state *State, stands *corev1.Pod) { state.seatTaken(&Effects{}, stands, "x") },
			map[string]string{"again": "n4"}, nil},
		"the move is given up": {func(state *State, _ *corev1.Pod) { state.HoldMove(mine, Move{}, nil, start) }, map[string]string{}, nil},
		"the gang is deleted": {func(state *State, _ *corev1.Pod) { state.groupDeleted(movedGroup(), start) },
			map[string]string{}, nil},
		"a pod of no move leaves too, and its seat is where it stood": {func(state *State, _ *corev1.Pod) {
			another := ownedPod("another", "")
			another.Spec.NodeName = "n2"
			state.added(another, start)
			state.HoldMove(mine, Move{}, nil, start)
			state.deleted(leaves(state, another), start)
		}, map[string]string{}, map[string][]string{"n2": {"another"}}},
	} {
		t.Run(name, func(t *testing.T) {
			state, stands := moved(t)
			hold(state, stands)
			c.happens(state, stands)
			assert.Empty(t, cmp.Diff(c.want, seatsIn(state, mine)))
			room := map[string][]string{}
			for pod, node := range c.want {
				room[node] = append(room[node], pod)
			}
			for node, pods := range c.room {
				room[node] = pods
			}
			assert.Empty(t, cmp.Diff(room, reservedNames(state, other)), "room")
		})
	}
}

func TestAMoveDoesNotTakeTheRoomOfAPodThatLeftSinceItWasDecided(t *testing.T) {
	state, stands := moved(t)
	unsaid := movedGroup()
	unsaid.Annotations = nil
	state.PodGroupChanged(movedGroup(), unsaid, start)
	lost := ownedPod("lost", "")
	lost.Spec.NodeName = "n4"
	state.added(lost, start)
	began := state.Now()
	toN4 := Move{Seats: []Placement{{Pod: ownedPod("again", ""), Node: "n4"}}, Began: began}
	held, _ := state.HoldMove(mine, toN4, func(pod *corev1.Pod) bool { return pod == lost }, start)
	assert.False(t, held, "a seat is held where a pod left without word")
	state.deleted(lost, start)
	holdSince(state, stands, began)
	assert.Empty(t, cmp.Diff(map[string][]string{"n3": {"stands"}, "n4": {"lost"}}, reservedNames(state, other)),
		"reserved from others")
	hold(state, stands)
	assert.Empty(t, cmp.Diff(bothSeats, seatsIn(state, mine)), "decided anew")
}

func TestSeatsOfAMoveOutliveTheScheduler(t *testing.T) {
	before, stands := moved(t)
	hold(before, stands)
	for reason, want := range map[string]int{scheduling.ReasonMoving: 2, scheduling.ReasonMoveAhead: 0} {
		written := movedGroup()
		written.Status.Seats = before.known(mine).seatsStatus()
		written.Status.Conditions = []metav1.Condition{
			{Type: scheduling.ConditionRepairPlanned, Status: "True", Reason: reason},
		}
		written.Annotations[scheduling.AnnotationSeatHold] = "0"
		after := New(anyone, nil)
		for _, node := range []string{"n1", "n3", "n4"} {
			after.nodeSeen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		}
		after.PodGroupChanged(nil, written, start)
		after.added(stands, start)
		after.Opened(start)
		if seats, until := after.moveSeats(mine); len(seats) != want || want > 0 && !until.Equal(start.Add(time.Minute)) {
			t.Errorf("%s: %d seats until %s, want %d", reason, len(seats), until, want)
		}
	}
}

// A process that has waited to lead holds what the one before it held last, whatever there was when it started.
func TestSeatsOfAMoveAreHeldByTheNextToLead(t *testing.T) {
	before, stands := moved(t)
	standby := New(anyone, nil)
	for _, node := range []string{"n1", "n3", "n4"} {
		standby.nodeSeen(nodeNamed(node))
	}
	standby.PodGroupChanged(nil, movedGroup(), start)
	standby.added(stands, start)
	standby.Opened(start)
	hold(before, stands)
	later := start.Add(time.Hour)
	proceeds(before, func(move *Move) { move.Until = later.Add(time.Minute) })
	written := movedGroup()
	written.Status.Seats = before.known(mine).seatsStatus()
	written.Status.Conditions = []metav1.Condition{
		{Type: scheduling.ConditionRepairPlanned, Status: "True", Reason: scheduling.ReasonMoving},
	}
	standby.PodGroupChanged(movedGroup(), written, later)
	for range 2 {
		standby.Leads(later)
		if seats, until := standby.moveSeats(mine); len(seats) != 2 || !until.Equal(later.Add(time.Minute)) {
			t.Errorf("%d seats until %s", len(seats), until)
		}
	}
	standby.PodGroupChanged(written, movedGroup(), later)
	standby.Leads(later)
	seats, _ := standby.moveSeats(mine)
	assert.Empty(t, seats, "seats of a move that is over")
}

// The move was decided without the pod, which may have taken the room.
func TestAMoveGivesUpTheNodeOfAPodBoundByAnotherProgram(t *testing.T) {
	for name, c := range map[string]struct {
		node string
		kept map[string]string
	}{
		"there":     {"n3", map[string]string{"again": "n4"}},
		"elsewhere": {"n2", bothSeats},
	} {
		t.Run(name, func(t *testing.T) {
			state, stands := moved(t)
			hold(state, stands)
			bound := ownedPod("bound", c.node)
			bound.Annotations[scheduling.AnnotationPodGroupName] = other.Name
			state.added(bound, start)
			assert.Empty(t, cmp.Diff(c.kept, seatsIn(state, mine)))
		})
	}
}

func TestPodThatTheNextSchedulerMovesKeepsNoRoomWhereItStood(t *testing.T) {
	before, stands := moved(t)
	hold(before, stands)
	written := movedGroup()
	written.Annotations = nil // Without the number of expected pods, a seat more is no surprise.
	written.Status.Seats = before.known(mine).seatsStatus()
	written.Status.Conditions = []metav1.Condition{
		{Type: scheduling.ConditionRepairPlanned, Status: "True", Reason: scheduling.ReasonMoving},
	}
	after := New(anyone, nil)
	for _, node := range []string{"n1", "n3", "n4"} {
		after.nodeSeen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	}
	after.PodGroupChanged(nil, written, start)
	after.added(stands, start)
	after.Opened(start)
	after.deleted(stands, start)
	if kept := reservedNames(after, other); len(kept) != 2 || kept["n3"] == nil || kept["n4"] == nil {
		t.Errorf("room is kept on %v", kept)
	}
}

func TestOnlyOtherRepairsAreWritten(t *testing.T) {
	state, _ := moved(t)
	podGroup := movedGroup()
	if told := state.Status(podGroup); told.Repair != (Repair{}) || !told.Unplanned {
		t.Errorf("before anything was planned: %+v", told)
	}
	ahead := Repair{Reason: scheduling.ReasonMoveAhead, Message: "will"}
	for _, step := range []struct {
		what   string
		round  map[gang.Key]Repair
		writes int
	}{
		{"nothing", nil, 0}, {"a move", map[gang.Key]Repair{mine: ahead, other: ahead}, 1},
		{"the same", map[gang.Key]Repair{mine: ahead}, 0}, {"nothing any more", nil, 1},
	} {
		assert.Len(t, state.RepairsPlanned(step.round).WriteStatus, step.writes, "%s are written", step.what)
		if told := state.Status(podGroup); told.Repair != step.round[mine] || told.Unplanned {
			t.Errorf("%s: %+v", step.what, told)
		}
	}
	state.RepairsPlanned(map[gang.Key]Repair{mine: ahead})
	another := movedGroup()
	another.UID = types.UID("another")
	assert.Equal(t, Repair{}, state.Status(another).Repair, "another of its name")
	// What an earlier process wrote is taken back by the first round.
	next := New(anyone, nil)
	podGroup.Status.Conditions = []metav1.Condition{
		{Type: scheduling.ConditionRepairPlanned, Status: "True", Reason: scheduling.ReasonMoving},
	}
	next.PodGroupChanged(nil, podGroup, start)
	effects := next.RepairsPlanned(nil)
	assert.Len(t, effects.WriteStatus, 1, "%v are written in the first round", effects.WriteStatus)
}

// What is known of a move is of the PodGroup for which it was decided, and of no other of its name.
func TestAMoveEndsWithItsPodGroup(t *testing.T) {
	state, _ := moved(t)
	podGroup, rest := movedGroup(), Respite{Until: start.Add(time.Hour)}
	evicts := state.MoveOf(podGroup)
	evicts.Progress = evicts.Decided("a group", nil, 1).Evicts().Moved().Rested(rest)
	known := func() Progress { return state.MoveOf(podGroup).Progress }
	state.Proceed(mine, evicts)
	assert.Empty(t, cmp.Diff(evicts.Progress, known(), cmpopts.IgnoreUnexported(Progress{})))
	namesake := movedGroup()
	namesake.UID = "another"
	state.PodGroupChanged(podGroup, namesake, start)
	state.Proceed(mine, evicts)
	if namesakes := state.MoveOf(namesake); namesakes.Step != MoveTold || namesakes.Rest != (Respite{}) {
		t.Errorf("another of its name: %+v", namesakes)
	}
}

// A move that has lost its seats is none, unless pods have left for it: then it is reported as given up.
func TestAMoveWithoutSeats(t *testing.T) {
	for step, want := range map[Step]Step{MoveHeld: MoveTold, MoveEvicts: MoveEvicts, MoveMade: MoveTold} {
		state, stands := moved(t)
		hold(state, stands)
		proceeds(state, func(move *Move) { move.Step = step })
		got := state.MoveOf(movedGroup()).Step
		assert.Equal(t, step, got, "with its seats step %d is %d", step, got)
		state.nodeGone("n3")
		state.nodeGone("n4")
		assert.Equal(t, want, state.MoveOf(movedGroup()).Step, "without seats step %d", step)
	}
}

func TestStepsOfAMove(t *testing.T) {
	leaving := []*corev1.Pod{pod("a")}
	decided := Progress{}.Decided("a group", leaving, 2)
	rested := Progress{}.Rested(Respite{Until: start})
	for name, c := range map[string]struct {
		got, want Progress
	}{
		"its room is held":               {decided, Progress{Step: MoveHeld, What: "a group", Leaving: leaving, Planned: 2}},
		"its pods may leave":             {Progress{Step: MoveHeld}.Evicts(), Progress{Step: MoveEvicts}},
		"one has left":                   {Progress{Step: MoveEvicts}.Moved(), Progress{Step: MoveEvicts, Evicted: 1}},
		"all have left":                  {Progress{Step: MoveEvicts, Evicted: 1}.Made(), Progress{Step: MoveMade, Evicted: 1}},
		"it is proved again when made":   {Progress{Step: MoveMade}.Decided("", nil, 0).Evicts(), Progress{Step: MoveMade}},
		"it is given up":                 {decided.Over(), Progress{}},
		"it is given up for some time":   {rested.Decided("a group", nil, 1).Over(), rested},
		"made, it is left alone no more": {rested.Made(), Progress{Step: MoveMade}},
	} {
		assert.Empty(t, cmp.Diff(c.want, c.got, cmpopts.IgnoreUnexported(Progress{})), "%s (-want +got)", name)
	}
}
