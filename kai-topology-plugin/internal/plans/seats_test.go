package plans_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/plans"
)

// gone is a book with two pods on their way to their nodes, which stand in one rack.
func gone(t *testing.T) *plans.Book {
	t.Helper()
	book := plans.NewBook()
	rack := plans.PlaceOf([]string{"rack"}, map[string]string{"rack": "r1"})
	book.Open(mine, 1, false, []plans.Placement{{Pod: pod("a"), Node: "n1", Place: rack}, {Pod: pod("b"), Node: "n2", Place: rack}})
	book.Assume(mine, onNode("a", "n1"))
	book.Assume(mine, onNode("b", "n2"))
	if _, ok := book.LetGo(mine, "b"); !ok {
		t.Fatal("the gang cannot be let go")
	}
	return book
}

func TestAPodWhoseBindingFailedHasASeat(t *testing.T) {
	book := gone(t)
	book.Unassume(mine, "a", start)
	if diff := cmp.Diff(map[string][]string{"n1": {"a"}}, reservedNames(book, other)); diff != "" {
		t.Errorf("reserved (-want +got):\n%s", diff)
	}
	if node, standing := book.Find(mine, 2, "a"); node != "n1" || standing != plans.Planned {
		t.Errorf("the pod is sent to %q, %v", node, standing)
	}
	if book.Assume(mine, onNode("a", "n2")) {
		t.Error("the pod is accepted on another node")
	}
	if !book.Assume(mine, onNode("a", "n1")) || !book.Released(mine, "a") {
		t.Error("the pod is refused its seat, or waits there for a gang that has gone")
	}
	if got := reservedNames(book, other); len(got) > 0 {
		t.Errorf("reserved although the node shows the pod: %v", got)
	}
}

func TestASeatEnds(t *testing.T) {
	for name, end := range map[string]func(*plans.Book){
		"when the pod is bound or deleted":       func(b *plans.Book) { b.Settled(mine, "a") },
		"when its node refuses the pod":          func(b *plans.Book) { b.Refuse(mine, "a") },
		"when its time is up":                    func(b *plans.Book) { b.Expire(start.Add(plans.SeatLife)) },
		"when its node gets into another domain": func(b *plans.Book) { b.Misplaced("n1", func(plans.Place) bool { return false }) },
		"when the pod is planned once more": func(b *plans.Book) {
			b.Open(mine, 2, true, []plans.Placement{{Pod: pod("a"), Node: "n1"}})
			b.Break(mine)
		},
	} {
		t.Run(name, func(t *testing.T) {
			book := gone(t)
			book.Unassume(mine, "a", start)
			book.Settled(mine, "b")
			end(book)
			if got := reservedNames(book, other); len(got) > 0 {
				t.Errorf("still reserved: %v", got)
			}
			if _, standing := book.Find(mine, 1, "a"); standing == plans.Planned {
				t.Error("the pod is still sent there")
			}
		})
	}
}

func TestASeatIsKept(t *testing.T) {
	for name, meanwhile := range map[string]func(*plans.Book){
		"while a sibling is bound":              func(b *plans.Book) { b.Settled(mine, "b") },
		"while a sibling loses its seat":        func(b *plans.Book) { b.Refuse(mine, "b") },
		"while its time is not up":              func(b *plans.Book) { b.Expire(start.Add(plans.SeatLife - 1)) },
		"while another node moves":              func(b *plans.Book) { b.Misplaced("n2", func(plans.Place) bool { return false }) },
		"while its node stays where it was":     func(b *plans.Book) { b.Misplaced("n1", func(plans.Place) bool { return true }) },
		"while others of the gang are replaced": func(b *plans.Book) { b.Break(mine) },
	} {
		t.Run(name, func(t *testing.T) {
			book := gone(t)
			book.Unassume(mine, "a", start)
			meanwhile(book)
			if diff := cmp.Diff(map[string][]string{"n1": {"a"}}, reservedNames(book, other)); diff != "" {
				t.Errorf("reserved (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodThatIsBeingBoundGetsNoSeatOnANodeThatIsNotItsOwn(t *testing.T) {
	book := gone(t)
	book.Refuse(mine, "a")
	book.Unassume(mine, "a", start)
	if got := reservedNames(book, other); len(got) > 0 {
		t.Errorf("reserved: %v", got)
	}
}

func TestExpiredSeatsAreTold(t *testing.T) {
	book := gone(t)
	book.Unassume(mine, "a", start)
	if got := book.Expire(start); got != nil {
		t.Errorf("expired too early: %v", got)
	}
	if diff := cmp.Diff([]gang.Key{mine}, book.Expire(start.Add(plans.SeatLife))); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	if got := book.Expire(start.Add(plans.SeatLife)); got != nil {
		t.Errorf("expired twice: %v", got)
	}
}

func TestPlansThatCountOnANodeThatMovedAreFound(t *testing.T) {
	moved := func(place plans.Place) bool { return place.Is(map[string]string{"rack": "r2"}) }
	rack := plans.PlaceOf([]string{"rack"}, map[string]string{"rack": "r1"})
	planned := func() *plans.Book {
		book := plans.NewBook()
		book.Open(mine, 1, false, []plans.Placement{{Pod: pod("a"), Node: "n1", Place: rack}, {Pod: pod("b"), Node: "n2", Place: rack}})
		return book
	}
	for name, test := range map[string]struct {
		then func(*plans.Book)
		node string
		want []gang.Key
	}{
		"a node that a pod is sent to":        {func(*plans.Book) {}, "n1", []gang.Key{mine}},
		"a node on which a pod waits":         {func(b *plans.Book) { b.Assume(mine, onNode("a", "n1")) }, "n1", []gang.Key{mine}},
		"a node that nobody goes to":          {func(*plans.Book) {}, "n3", nil},
		"a node after the gang was let go":    {func(b *plans.Book) { b.Assume(mine, onNode("a", "n1")); b.LetGo(mine, "a") }, "n1", nil},
		"what is awaited after it was let go": {func(b *plans.Book) { b.Assume(mine, onNode("a", "n1")); b.LetGo(mine, "a") }, "n2", []gang.Key{mine}},
	} {
		t.Run(name, func(t *testing.T) {
			book := planned()
			test.then(book)
			if diff := cmp.Diff(test.want, book.Misplaced(test.node, moved)); diff != "" {
				t.Errorf("gangs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	place := plans.PlaceOf([]string{"zone", "rack"}, map[string]string{"zone": "z", "rack": "", "other": "o"})
	for name, test := range map[string]struct {
		labels map[string]string
		is     bool
	}{
		"the same labels":            {map[string]string{"zone": "z", "rack": ""}, true},
		"another value":              {map[string]string{"zone": "y", "rack": ""}, false},
		"a label that has gone":      {map[string]string{"zone": "z"}, false},
		"a label that is no level's": {map[string]string{"zone": "z", "rack": "", "other": "p"}, true},
	} {
		if got := place.Is(test.labels); got != test.is {
			t.Errorf("%s: %v, want %v", name, got, test.is)
		}
	}
}

// Pods above the minimum are planned together. One that comes when the gang was let go, but before they have their nodes, must
// not take the place of their plan.
func TestAPodThatWasLeftOutWaitsForThePlanOfItsSiblings(t *testing.T) {
	book := twoPods()
	book.Assume(mine, onNode("a", "n1"))
	if release, ok := book.LetGo(mine, "a"); !ok || !release.First || release.Ended {
		t.Fatalf("let go: %+v, %v", release, ok)
	}
	if _, standing := book.Find(mine, 1, "late"); standing != plans.LeftOut {
		t.Errorf("a late pod is planned beside those that are on their way: %v", standing)
	}
	book.Assume(mine, onNode("b", "n2"))
	if release, ok := book.LetGo(mine, "b"); !ok || release.First || !release.Ended {
		t.Fatalf("the last one: %+v, %v", release, ok)
	}
	if _, standing := book.Find(mine, 1, "late"); standing != plans.Unplanned {
		t.Errorf("a late pod is not planned when the others have their nodes: %v", standing)
	}
	book.Open(mine, 1, true, []plans.Placement{{Pod: pod("late"), Node: "n3"}})
	book.Assume(mine, onNode("late", "n3"))
	if release, ok := book.LetGo(mine, "late"); !ok || release.First || !release.Ended {
		t.Errorf("the gang is let go a second time: %+v, %v", release, ok)
	}
}
