package gangstate

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const life = time.Minute

var big = Claim{Rank: rank("big", 0, 100), Scarce: []string{"gpu"}}

// tried has a gang wait that was tried in some state of the room.
func tried(s *State, claim Claim, room int) {
	s.change(claim.Rank.Gang, func(r *record, _ *Effects) {
		r.overtaken = &overtaken{claim: claim, tried: room, limit: MaxOvertakes}
	})
}

func rank(name string, priority int32, since int64) gang.Rank {
	return gang.Rank{Priority: priority, Since: time.Unix(since, 0), Gang: gang.Key{Namespace: "ns", Name: name}}
}

func taking(by gang.Rank, resource string) Taking { return Taking{Rank: by, Asks: sets.New(resource)} }

// overtake lets that many gangs of the rank overtake the waiting gangs.
func overtake(s *State, by gang.Rank, resource string, times int) {
	for i := range times {
		by.Gang.Name = fmt.Sprint(by.Gang.Name, i)
		s.Placed(taking(by, resource), nil)
	}
}

// countedOn counts so many pods on any nodes.
func countedOn(pods int) func([]string) int { return func([]string) int { return pods } }

func (s *State) reservedForOverdue(asking gang.Rank) (room clusterview.Reserved, first gang.Key) {
	reserved := s.Reserved(asking, nil)
	return reserved.Overdue, reserved.First
}

// reserve reserves nodes for the big gang, on which so many pods stand.
func reserve(s *State, pods int, now time.Time, nodes ...string) Effects {
	var placements []Placement
	for i, node := range nodes {
		name := fmt.Sprint("big-", i)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		placements = append(placements, Placement{Pod: pod, Node: node})
	}
	return s.ReserveOverdue(big.Rank.Gang, placements, countedOn(pods), now, life)
}

func TestAGangIsOverdueOnceItWasOvertakenOftenEnough(t *testing.T) {
	younger := rank("younger", 0, 200)
	for name, c := range map[string]struct {
		times  int
		taking Taking
		asking Taking
		want   bool
	}{
		"at the bound":                      {MaxOvertakes, taking(younger, "gpu"), taking(younger, "gpu"), true},
		"not before":                        {MaxOvertakes - 1, taking(younger, "gpu"), taking(younger, "gpu"), false},
		"not before one that ranks higher":  {MaxOvertakes, taking(younger, "gpu"), taking(rank("older", 0, 50), "gpu"), false},
		"not before itself":                 {MaxOvertakes, taking(younger, "gpu"), taking(big.Rank, "gpu"), false},
		"not before one that takes nothing": {MaxOvertakes, taking(younger, "gpu"), taking(younger, "cpu"), false},
		"not by gangs that rank higher":     {MaxOvertakes, taking(rank("urgent", 9, 200), "gpu"), taking(younger, "gpu"), false},
		"not by gangs that take no scarce":  {MaxOvertakes, taking(younger, "cpu"), taking(younger, "gpu"), false},
		"not by gangs that replace lost pods": {
			MaxOvertakes, taking(gang.Rank{Begun: true, Priority: -1, Gang: younger.Gang}, "gpu"), taking(younger, "gpu"), false,
		},
		"not before one that replaces lost pods": {
			MaxOvertakes, taking(younger, "gpu"), taking(gang.Rank{Begun: true, Priority: -1, Gang: younger.Gang}, "gpu"), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := New(anyone, nil)
			tried(state, big, 0)
			for range c.times {
				state.Placed(c.taking, nil)
			}
			key, by := state.Overdue(c.asking)
			assert.Equal(t, c.want, key == big.Rank.Gang && by.Has(c.taking.Rank.Gang),
				"gang %v is overdue, overtaken by %v", key, by)
		})
	}
}

func TestOvertakersAreCountedAfterARestart(t *testing.T) {
	state, small := New(anyone, nil), taking(rank("small", 0, 200), "gpu")
	asked := gang.Gang{PodGroup: groupOf(2)}
	state.DidNotFit(&asked, big, 0, state.Now(), slices.Repeat([]Taking{small}, MaxOvertakes))
	key, _ := state.Overdue(small)
	assert.Equal(t, big.Rank.Gang, key, "it is not overdue")
}

func TestOnlyTheLatestOvertakersAreRemembered(t *testing.T) {
	state := New(anyone, nil)
	tried(state, big, 0)
	overtake(state, rank("", 0, 200), "gpu", 1)
	for i := range maxOvertakers {
		state.Placed(taking(rank(fmt.Sprint("late", i), 0, 200), "gpu"), nil)
	}
	_, by := state.Overdue(taking(rank("small", 0, 200), "gpu"))
	if by.Len() != maxOvertakers || by.Has(gang.Key{Namespace: "ns", Name: "0"}) {
		t.Errorf("%d are remembered, the first one: %t", by.Len(), by.Has(gang.Key{Namespace: "ns", Name: "0"}))
	}
}

func TestReservedRoomIsKeptFromLowerRanksAlone(t *testing.T) {
	state, small := New(anyone, nil), rank("small", 0, 200)
	tried(state, big, 0)
	overtake(state, rank("by", 0, 200), "gpu", MaxOvertakes)
	effects := reserve(state, 3, start, "n1", "n1", "n2")
	assert.Contains(t, effects.WriteStatus, big.Rank.Gang, "effects are %+v", effects)
	assert.Equal(t, life, effects.Again, "effects are %+v", effects)
	want := []scheduling.ReservationStatus{{
		Reason: scheduling.ReservationOvertaken, Nodes: []string{"n1", "n1", "n2"},
		Until: &metav1.Time{Time: start.Add(life)},
	}}
	assert.Empty(t, cmp.Diff(want, state.known(big.Rank.Gang).reservationsStatus()), "the status says")
	assert.Empty(t, cmp.Diff([]string{"n1", "n2"}, state.Reserved(small, nil).Nodes), "nodes")
	begun := small
	begun.Begun = true
	for name, c := range map[string]struct {
		asking gang.Rank
		want   int
	}{
		"a younger gang":               {small, 2},
		"a gang of lower priority":     {rank("low", -1, 1), 2},
		"an older gang":                {rank("older", 0, 50), 0},
		"a gang of higher priority":    {rank("high", 1, 200), 0},
		"the gang itself":              {big.Rank, 0},
		"a gang that replaces its own": {begun, 0},
	} {
		reserved, first := state.reservedForOverdue(c.asking)
		if len(reserved) != c.want || (first == big.Rank.Gang) != (c.want > 0) {
			t.Errorf("%s has to leave nodes %v to %v", name, slices.Collect(maps.Keys(reserved)), first)
		}
	}
	assert.Empty(t, state.reserved(small.Gang, 0), "it counts as other reservations, too")
	key, _ := state.Overdue(taking(small, "gpu"))
	assert.NotEqual(t, big.Rank.Gang, key, "it has room, and is overdue all the same")
}

func TestReservedRoomEndsAndIsOfferedToOthers(t *testing.T) {
	for name, c := range map[string]struct {
		event func(*State) Effects
		ends  bool
	}{
		"when no pod has left it in time": {func(s *State) Effects { return s.Tick(start.Add(life)) }, true},
		"not before":                      {func(s *State) Effects { return s.Tick(start.Add(life - 1)) }, false},
		"not when one has left it": {func(s *State) Effects {
			s.Extend(big.Rank.Gang, countedOn(2), start.Add(life/2), life)
			return s.Tick(start.Add(life))
		}, false},
		"when as many stand there": {func(s *State) Effects {
			s.Extend(big.Rank.Gang, countedOn(3), start.Add(life/2), life)
			return s.Tick(start.Add(life))
		}, true},
		"when the gang is deleted": {func(s *State) Effects {
			podGroup := &scheduling.PodGroup{}
			podGroup.Namespace, podGroup.Name = big.Rank.Gang.Namespace, big.Rank.Gang.Name
			return s.groupDeleted(podGroup, start)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			state := New(anyone, nil)
			tried(state, big, 0)
			reserve(state, 3, start, "n1")
			state.TurnAway(pod("turned-away"))
			effects := c.event(state)
			reserved, _ := state.reservedForOverdue(rank("small", 0, 200))
			if ended := len(reserved) == 0; ended != c.ends || (len(effects.Activate) == 1) != c.ends {
				t.Errorf("room is reserved: %t, called are %d pods", !ended, len(effects.Activate))
			}
		})
	}
}

// The plan reserves room for the same pods, which a decision can have in one place only.
func TestReservedRoomIsThatOfThePlanWhileThereIsOne(t *testing.T) {
	state, small := New(anyone, nil), rank("small", 0, 200)
	tried(state, big, 0)
	reserve(state, 1, start, "n1")
	nodes := func() int {
		reserved, _ := state.reservedForOverdue(small)
		return len(reserved)
	}
	for name, during := range map[string]func(r *record){
		"a plan":       func(r *record) { r.plan = &plan{} },
		"a preemption": func(r *record) { r.preempting = &preempting{} },
	} {
		r := state.record(big.Rank.Gang)
		during(r)
		got := nodes()
		assert.Zero(t, got, "beside %s room on %d nodes is reserved", name, got)
		r.plan, r.preempting = nil, nil
		got = nodes()
		assert.Equal(t, 1, got, "after %s room on %d nodes is reserved", name, got)
	}
}

func TestAGangThatNothingHelpsIsLookedAtAfterTwiceAsManyOvertakes(t *testing.T) {
	state, small := New(anyone, nil), taking(rank("small", 0, 200), "gpu")
	tried(state, big, 0)
	for _, times := range []int{MaxOvertakes, 2 * MaxOvertakes, 4 * MaxOvertakes} {
		overtake(state, small.Rank, "gpu", times-1)
		key, _ := state.Overdue(small)
		require.NotEqual(t, big.Rank.Gang, key, "it is overdue before %d overtakes", times)
		overtake(state, small.Rank, "gpu", 1)
		key, _ = state.Overdue(small)
		require.Equal(t, big.Rank.Gang, key, "it is not overdue after %d overtakes", times)
		reserve(state, 0, start)
	}
}

func TestRoomIsReservedForSoManyGangsAtATime(t *testing.T) {
	state, small := New(anyone, nil), taking(rank("small", 0, 200), "gpu")
	for i := range maxReserved + 1 {
		claim := big
		claim.Rank.Gang.Name = fmt.Sprint("big", i)
		tried(state, claim, 0)
	}
	overtake(state, small.Rank, "gpu", MaxOvertakes)
	for i := range maxReserved {
		key, _ := state.Overdue(small)
		require.NotEqual(t, gang.Key{}, key, "none is overdue after %d", i)
		member := Placement{Pod: pod(key.Name), Node: "n"}
		state.ReserveOverdue(key, []Placement{member}, countedOn(1), start, life)
	}
	key, _ := state.Overdue(small)
	assert.Equal(t, gang.Key{}, key, "%v is overdue beside %d that have room", key, maxReserved)
}

func TestTheHigherRankIsTriedFirst(t *testing.T) {
	state := New(anyone, nil)
	older := big
	older.Rank = rank("older", 0, 50)
	tried(state, big, 1)
	tried(state, older, 1)
	small := taking(rank("small", 0, 200), "gpu")
	first, _ := state.Ahead(small, 1, true)
	assert.Equal(t, gang.Key{}, first, "both have been tried since room became free")
	first, _ = state.Ahead(small, 2, true)
	assert.Equal(t, older.Rank.Gang, first)
	other, _ := state.Ahead(taking(small.Rank, "cpu"), 2, true)
	assert.Equal(t, gang.Key{}, other, "what is not scarce is not theirs")
	second, _ := state.Ahead(small, 2, true)
	assert.Equal(t, big.Rank.Gang, second)
}

func TestAGangWithRoomHeldElsewhereGoesLast(t *testing.T) {
	for name, c := range map[string]struct {
		held  bool
		other gang.Rank
		ahead bool
	}{
		"not before the older one as such":    {other: gang.Rank{Begun: true}},
		"before an older one that is to move": {held: true, other: gang.Rank{Begun: true}, ahead: true},
		"not before one of higher priority":   {held: true, other: gang.Rank{Begun: true, Priority: 1}},
		"before one that is to move and is younger": {
			held: true, other: gang.Rank{Begun: true, Since: start.Add(time.Hour)}, ahead: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			state, stands := moved(t)
			if c.held {
				hold(state, stands)
			}
			c.other.Gang = mine
			younger := big
			younger.Rank = rank("younger", 0, 1<<40)
			younger.Rank.Begun = true
			tried(state, younger, 1)
			first, _ := state.Ahead(taking(c.other, "gpu"), 2, true)
			assert.Equal(t, c.ahead, first != gang.Key{}, "first is %v", first)
		})
	}
	state, stands := moved(t)
	hold(state, stands)
	older := big
	older.Rank = gang.Rank{Gang: mine, Begun: true}
	tried(state, older, 1)
	nowhere := gang.Rank{Begun: true, Since: start, Gang: gang.Key{Name: "nowhere"}}
	first, _ := state.Ahead(taking(nowhere, "gpu"), 2, true)
	assert.Equal(t, gang.Key{}, first, "an older one that is to move goes before one that has nowhere to go")
}
