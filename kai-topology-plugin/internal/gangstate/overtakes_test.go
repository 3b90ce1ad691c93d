package gangstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// waits has a gang wait, and returns which others are activated by that.
func (s *State) waits(claim Claim, room int64) (first bool, again []gang.Key) {
	effects := s.change(claim.Rank.Gang, func(r *record, e *Effects) { first = s.wait(e, r, claim, room) })
	return first, gangsIn(effects)
}

// done has a gang wait no more, and returns which others are activated by that.
func (s *State) done(key gang.Key) []gang.Key { return gangsIn(s.StopWaiting(key)) }

func gangsIn(effects Effects) (gangs []gang.Key) {
	for _, pod := range effects.Activate {
		gangs = append(gangs, gang.Key{Namespace: "ns", Name: pod.Name})
	}
	return gangs
}

// closedTo returns what is closed to a gang, and has it wait with a pod of its name.
func (s *State) closedTo(rank gang.Rank, holds func(KeptDomain) bool) []KeptDomain {
	member := pod(rank.Gang.Name)
	member.ObjectMeta = metav1.ObjectMeta{Namespace: rank.Gang.Namespace, Name: rank.Gang.Name, UID: types.UID(rank.Gang.Name)}
	s.change(rank.Gang, func(r *record, _ *Effects) { r.members.Show(member, anyone) })
	full := s.KeptDomains(rank)
	return slices.DeleteFunc(full, func(domain KeptDomain) bool { return !holds(domain) })
}

var (
	big    = Claim{Rank: rank("big", 0, 100), Ground: Ground{Levels: []string{"zone", "rack"}}, Scarce: []string{"gpu"}}
	inRack = map[string]string{"zone": "z1", "rack": "r1"}
)

func rank(name string, priority int32, since int64) gang.Rank {
	return gang.Rank{Priority: priority, Since: time.Unix(since, 0), Gang: gang.Key{Namespace: "ns", Name: name}}
}

func taking(by gang.Rank, resource string, nodes ...map[string]string) Taking {
	return Taking{Rank: by, Asks: sets.New(resource), Nodes: nodes}
}

func always(KeptDomain) bool { return true }

func domains(closed []KeptDomain) []string {
	var names []string
	for _, domain := range closed {
		names = append(names, domain.For.Name+" "+domain.Domain)
	}
	return names
}

func TestADomainIsClosedToThoseWhoPassedOftenEnough(t *testing.T) {
	younger := rank("younger", 0, 200)
	for name, c := range map[string]struct {
		times  int
		taking Taking
		asking gang.Rank
		holds  func(KeptDomain) bool
		want   []string
	}{
		"at the bound":                  {MaxOvertakes, taking(younger, "gpu", inRack, inRack), younger, always, []string{"big z1/r1"}},
		"not before":                    {MaxOvertakes - 1, taking(younger, "gpu", inRack), younger, always, nil},
		"not to those who rank higher":  {MaxOvertakes, taking(younger, "gpu", inRack), rank("older", 0, 50), always, nil},
		"not to the gang itself":        {MaxOvertakes, taking(younger, "gpu", inRack), big.Rank, always, nil},
		"not for those who rank higher": {MaxOvertakes, taking(rank("urgent", 9, 200), "gpu", inRack), younger, always, nil},
		"not for what is not scarce":    {MaxOvertakes, taking(younger, "cpu", inRack), younger, always, nil},
		"not for nodes without a rack":  {MaxOvertakes, taking(younger, "gpu", map[string]string{"zone": "z1"}), younger, always, nil},
		"not if it could not hold it":   {MaxOvertakes, taking(younger, "gpu", inRack), younger, func(KeptDomain) bool { return false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			state := New(anyone)
			state.waits(big, 0)
			for range c.times {
				state.take(c.taking)
			}
			if diff := cmp.Diff(c.want, domains(state.closedTo(c.asking, c.holds))); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGangWithoutALevelWaitsForTheCluster(t *testing.T) {
	state := New(anyone)
	claim := big
	claim.Ground = Ground{}
	state.waits(claim, 0)
	for i := range MaxOvertakes {
		state.take(taking(rank("small", 0, 200), "gpu", map[string]string{"zone": string(rune('a' + i))}))
	}
	closed := state.closedTo(rank("small", 0, 200), always)
	if diff := cmp.Diff([]string{"big "}, domains(closed)); diff != "" {
		t.Fatalf("closed (-want +got):\n%s", diff)
	}
	if !closed[0].Keeps(nil) {
		t.Error("a node is not part of the cluster")
	}
}

func TestThoseKeptOutAreCalledWhenItOpens(t *testing.T) {
	state := New(anyone)
	state.waits(big, 0)
	small := rank("small", 0, 200)
	if state.closedTo(small, always); len(state.done(big.Rank.Gang)) > 0 {
		t.Error("somebody is called although nothing was closed")
	}
	state.waits(big, 0)
	for range MaxOvertakes {
		state.take(taking(small, "gpu", inRack))
	}
	state.closedTo(small, always)
	if diff := cmp.Diff([]gang.Key{small.Gang}, state.done(big.Rank.Gang)); diff != "" {
		t.Errorf("called (-want +got):\n%s", diff)
	}
	if closed := state.closedTo(small, always); len(closed) > 0 || state.Waits(big.Rank.Gang) {
		t.Errorf("still closed: %v", domains(closed))
	}
}

// To try again and fail again is no new wait, but another level is another question.
func TestTheCountOutlivesAttempts(t *testing.T) {
	state := New(anyone)
	state.waits(big, 0)
	small := rank("small", 0, 200)
	for range MaxOvertakes {
		state.take(taking(small, "gpu", inRack))
	}
	if first, _ := state.waits(big, 0); first || len(state.closedTo(small, always)) != 1 {
		t.Error("forgotten with another attempt")
	}
	other := big
	other.Ground = Ground{Levels: []string{"zone"}}
	state.waits(other, 0)
	if len(state.closedTo(small, always)) != 0 {
		t.Error("racks are closed for a gang that wants a zone")
	}
}

func TestAfterARestartThoseWhoStillStandAreCounted(t *testing.T) {
	var standing []Taking
	for range MaxOvertakes {
		standing = append(standing, taking(rank("small", 0, 200), "gpu", inRack))
	}
	state := New(anyone)
	state.waits(big, 0)
	state.Recount(big.Rank.Gang, standing)
	if diff := cmp.Diff([]string{"big z1/r1"}, domains(state.closedTo(rank("another", 0, 300), always))); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}

func TestWhoRanksHigherIsTriedFirst(t *testing.T) {
	state := New(anyone)
	older := big
	older.Rank = rank("older", 0, 50)
	state.waits(big, 1)
	state.waits(older, 1)
	small := taking(rank("small", 0, 200), "gpu", inRack)
	if _, ok := state.Ahead(small, 1); ok {
		t.Error("both have been tried since room became free")
	}
	if first, _ := state.Ahead(small, 2); first != older.Rank.Gang {
		t.Errorf("first is %s", first)
	}
	state.Tried(older.Rank.Gang, 2)
	if second, _ := state.Ahead(small, 2); second != big.Rank.Gang {
		t.Errorf("second is %s", second)
	}
	if _, ok := state.Ahead(taking(small.Rank, "cpu", inRack), 2); ok {
		t.Error("what is not scarce is not theirs")
	}
}

func TestWhoHasRoomHeldElsewhereGoesLast(t *testing.T) {
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
			state.waits(younger, 1)
			if _, ahead := state.Ahead(taking(c.other, "gpu", inRack), 2); ahead != c.ahead {
				t.Errorf("the younger one goes first: %t", ahead)
			}
		})
	}
	state, stands := moved(t)
	hold(state, stands)
	older := big
	older.Rank = gang.Rank{Gang: mine, Begun: true}
	state.waits(older, 1)
	nowhere := gang.Rank{Begun: true, Since: start, Gang: gang.Key{Name: "nowhere"}}
	if _, ahead := state.Ahead(taking(nowhere, "gpu", inRack), 2); ahead {
		t.Error("an older one that is to move goes before one that has nowhere to go")
	}
}

func TestWhoWasKeptOutIsCalledWhenTheGangWaitsForSomethingElse(t *testing.T) {
	elsewhere, changed, other := big, big, big
	elsewhere.Ground = Ground{Levels: []string{"zone"}}
	changed.Generation = 2
	other.Scarce = []string{"cpu"}
	younger := rank("younger", 0, 200)
	for name, test := range map[string]struct {
		now  Claim
		want []gang.Key
	}{
		"nothing has changed":     {big, nil},
		"for other domains":       {elsewhere, []gang.Key{younger.Gang}},
		"with another spec":       {changed, []gang.Key{younger.Gang}},
		"short of something else": {other, []gang.Key{younger.Gang}},
	} {
		t.Run(name, func(t *testing.T) {
			state := New(anyone)
			state.waits(big, 0)
			for range MaxOvertakes {
				state.take(taking(younger, "gpu", inRack))
			}
			state.closedTo(younger, always)
			if !state.known(younger.Gang).barred || state.known(big.Rank.Gang).barred {
				t.Error("it is not known who was kept out")
			}
			_, again := state.waits(test.now, 1)
			if diff := cmp.Diff(test.want, again); diff != "" {
				t.Errorf("called (-want +got):\n%s", diff)
			}
		})
	}
}

// What the status says of domains follows from answers: one that nobody has asked about keeps nobody out.
func TestReservationsTellOfDomainsThatAreClosed(t *testing.T) {
	key := big.Rank.Gang
	kept := scheduling.ReservationStatus{
		Reason: scheduling.ReservationOvertaken, Level: "rack", Domain: "z1/r1", Resources: []string{"gpu"},
	}
	state := New(anyone)
	state.waits(big, 0)
	overtake := func(times int) {
		for range times {
			state.take(taking(rank("younger", 0, 200), "gpu", inRack))
		}
	}
	asked := Emptied{Domain: "z1/r1", Generation: 1}
	step := func(name string, effects Effects, written bool, want ...scheduling.ReservationStatus) {
		t.Helper()
		if got := slices.Contains(effects.WriteStatus, key); got != written {
			t.Errorf("%s: the status is written: %v", name, got)
		}
		if diff := cmp.Diff(want, state.Reservations(key)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	overtake(MaxOvertakes - 1)
	step("not overtaken often enough", state.SetHolds(key, Emptied{Domain: "z1/r2"}, false), false)
	overtake(1)
	step("nobody has asked yet", Effects{}, false)
	step("it would hold the gang", state.SetHolds(key, asked, true), true, kept)
	step("it still would", state.SetHolds(key, asked, true), false, kept)
	asked.Terrain++
	step("it would not any more", state.SetHolds(key, asked, false), true)
	asked.Terrain++
	step("it would again", state.SetHolds(key, asked, true), true, kept)
	smaller := big
	smaller.Scarce = []string{"cpu"}
	state.waits(smaller, 1)
	kept.Resources = smaller.Scarce
	step("it is short of something else", Effects{}, false, kept)
	step("it waits no more", state.StopWaiting(key), true)
	step("it is not known any more", state.SetHolds(key, asked, true), false)

	everywhere := big
	everywhere.Ground = Ground{}
	state.waits(everywhere, 2)
	overtake(MaxOvertakes)
	step("the cluster", state.SetHolds(key, Emptied{}, true), true,
		scheduling.ReservationStatus{Reason: scheduling.ReservationOvertaken, Resources: []string{"gpu"}})
	state.waits(big, 3)
	step("another level", Effects{}, false)
}
