package gangstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// What has done its work counts, also if it is removed, and for the next scheduler, until the gang starts anew.
func TestPodsThatHaveDoneTheirWorkCountWhenTheyAreGone(t *testing.T) {
	state, group := known(2, ownedPod("stands", "n1")), groupOf(2)
	first, second := ownedPod("first", "n2", succeeded), ownedPod("second", "n3", succeeded)
	check := func(what string, want map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, state.Ended(mine)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	state.PodFinished(first, false)
	state.PodFinished(second, false)
	check("both are there", nil)
	state.PodFinished(first, true)
	state.PodFinished(first, true)
	check("one is gone", map[string]int{"": 1})
	state.PodFinished(ownedPod("other", "n3", succeeded, stopping), true)
	check("nobody has said that another one has done its work", map[string]int{"": 1})

	group.Status.SubGroups = []scheduling.SubGroupStatus{{Succeeded: 2}}
	state = New(anyone)
	state.PodGroupChanged(nil, group, start)
	state.PodFinished(second, false)
	state.Opened(start)
	check("by what an earlier scheduler wrote", map[string]int{"": 1})
	for range 3 {
		third := ownedPod("third", "n4", succeeded)
		state.PodFinished(third, false)
		state.PodFinished(third, true)
	}
	check("no more than the gang needs", map[string]int{"": 2})
	state.groupDeleted(group, start)
	check("it is deleted", nil)
	state.PodFinished(second, true)
	if len(state.gangs) > 0 {
		t.Errorf("%d gangs are remembered", len(state.gangs))
	}
}
