package gangstate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Of a gang of four, three pods have done their work, and the last one failed: the next one needs no others beside it.
// Pods of a further wave do: they start together.
func TestPodsThatHaveDoneTheirWorkAreNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		done  int
		first bool
		held  bool
	}{
		"three of four are done":          {done: 3},
		"word of them comes first":        {done: 3, first: true},
		"two of four are done":            {done: 2, held: true},
		"all are done, and another comes": {done: 4, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(4)
			next := ownedPod("next", "")
			appears := func() {
				state.added(next, start)
				state.Queued(mine, next, start)
			}
			if c.first {
				appears()
			}
			called := false
			for i := range c.done {
				effects := state.PodFinished(ownedPod(fmt.Sprint("done-", i), "n1", succeeded), false, start)
				called = called || slices.Contains(names(effects.Activate), "next")
			}
			if !c.first {
				appears()
			}
			if why, _ := state.Queued(mine, next, start); (why != "") != c.held || called != c.first {
				t.Errorf("held for %q, called %t", why, called)
			}
		})
	}
}

// What has done its work counts, also if it is removed, and for the next scheduler, until the gang starts anew.
func TestPodsThatHaveDoneTheirWorkCountWhenTheyAreGone(t *testing.T) {
	state, group := known(2, ownedPod("stands", "n1")), groupOf(2)
	first, second := ownedPod("first", "n2", succeeded), ownedPod("second", "n3", succeeded)
	check := func(what string, want map[string]int) {
		t.Helper()
		assert.Empty(t, cmp.Diff(want, endedOf(state)), "%s (-want +got)", what)
	}
	state.PodFinished(first, false, start)
	state.PodFinished(second, false, start)
	check("both are there", nil)
	state.PodFinished(first, true, start)
	state.PodFinished(first, true, start)
	check("one is gone", map[string]int{"": 1})
	state.PodFinished(ownedPod("other", "n3", succeeded, stopping), true, start)
	check("nobody has said that another one has done its work", map[string]int{"": 1})

	group.Status.SubGroups = []scheduling.SubGroupStatus{{Succeeded: 2}}
	state = New(anyone, nil)
	state.PodGroupChanged(nil, group, start)
	state.PodFinished(second, false, start)
	state.Opened(start)
	check("by what an earlier scheduler wrote", map[string]int{"": 1})
	for range 3 {
		third := ownedPod("third", "n4", succeeded)
		state.PodFinished(third, false, start)
		state.PodFinished(third, true, start)
	}
	check("no more than the gang needs", map[string]int{"": 2})
	state.groupDeleted(group, start)
	check("it is deleted", nil)
	state.PodFinished(second, true, start)
	assert.Empty(t, state.gangs, "gangs are remembered")
}

func endedOf(state *State) map[string]int {
	_, ended := state.Unshown(mine)
	return ended
}
