package plans_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/plans"
)

func clearingFor(key gang.Key) *plans.Clearings {
	clearings := plans.NewClearings()
	clearings.Open(key, &plans.Clearing{
		Priority: 5, Placements: []plans.Placement{{Pod: pod("a"), Node: "n1"}}, Awaited: sets.New[types.UID]("x", "y"), Message: "x and y leave",
	})
	return clearings
}

func TestTheLastWhoLeavesMakesTheGangReady(t *testing.T) {
	clearings := clearingFor(mine)
	if ready := clearings.Gone("x"); len(ready) > 0 {
		t.Errorf("ready while y stands: %v", ready)
	}
	for range 2 {
		clearings.Gone("unknown")
	}
	if awaited, message, open := clearings.State(mine); awaited != 1 || message != "x and y leave" || !open {
		t.Errorf("awaited %d, %q, open %v", awaited, message, open)
	}
	if diff := cmp.Diff([]gang.Key{mine}, clearings.Gone("y")); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	if ready := clearings.Gone("y"); len(ready) > 0 {
		t.Errorf("ready a second time: %v", ready)
	}
	if closed := clearings.Close(mine); closed == nil || clearings.Close(mine) != nil {
		t.Error("not closed exactly once")
	}
	if _, _, open := clearings.State(mine); open || len(clearings.Gangs()) > 0 {
		t.Error("still open")
	}
}

func TestWhoHasToRespectRoomThatIsBeingMade(t *testing.T) {
	clearings := clearingFor(mine)
	for name, test := range map[string]struct {
		except   gang.Key
		priority int32
		want     int
	}{
		"an equal":       {other, 5, 1},
		"somebody below": {other, 4, 1},
		"somebody above": {other, 6, 0},
		"the gang":       {mine, 5, 0},
	} {
		if got := clearings.Reserved(test.except, test.priority)["n1"]; len(got) != test.want {
			t.Errorf("%s respects %d pods, want %d", name, len(got), test.want)
		}
	}
}
