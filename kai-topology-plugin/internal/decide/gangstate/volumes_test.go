package gangstate

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// claiming is a state in which a gang of two pods has been released; one of them awaits its volume.
func claiming(t *testing.T) *State {
	t.Helper()
	state := known(2, memberPod("a", ""), memberPod("b", ""))
	state.change(mine, func(r *record, _ *Effects) {
		r.open(version(1), needing(2), false, []Placement{
			{Pod: memberPod("a", ""), Node: "n1"}, {Pod: memberPod("b", ""), Node: "n2"},
		})
	})
	for pod, node := range map[string]string{"a": "n1", "b": "n2"} {
		if !state.assumedOn(memberPod(pod, node)) {
			t.Fatal("not planned")
		}
	}
	state.Permit(mine, "a", version(1), "")
	if permission, _ := state.Permit(mine, "b", version(1), "data-b"); permission != Go {
		t.Fatal("not let go")
	}
	return state
}

func (s *State) permitted(pod types.UID) Permission {
	permission, _ := s.Provided(mine, pod)
	return permission
}

func TestNoPodIsBoundBeforeTheGangHasItsVolumes(t *testing.T) {
	state := claiming(t)
	if permission := state.permitted("a"); permission != Wait || state.Status(groupOf(2)).Claim != "data-b" {
		t.Fatalf("%v while claim %q has no volume", permission, state.Status(groupOf(2)).Claim)
	}
	permission, effects := state.Provided(mine, "b")
	if permission != Go || !effects.Provided || state.permitted("a") != Go || state.Status(groupOf(2)).Claim != "" {
		t.Errorf("%v, %+v, and the other pod waits, with all volumes", permission, effects)
	}
}

func TestAGangWithoutItsVolumeComesBackAsAWhole(t *testing.T) {
	for name, event := range map[string]func(*State) Effects{
		"its time is up":     func(s *State) Effects { return s.Unassumed(mine, "b", start) },
		"its pod is deleted": func(s *State) Effects { return s.deleted(memberPod("b", ""), start) },
	} {
		t.Run(name, func(t *testing.T) {
			state := claiming(t)
			if effects := event(state); !effects.Provided || state.permitted("a") != Return {
				t.Errorf("the other pod is %v: %+v", state.permitted("a"), effects)
			}
			state.Unassumed(mine, "a", start)
			if got := reservedNames(state, other); len(got) > 0 || len(state.record(mine).claims) > 0 {
				t.Errorf("room is kept: %v", got)
			}
		})
	}
}

func TestAnOptionalPodHoldsUpNoOther(t *testing.T) {
	state := claiming(t)
	fewer := groupOf(1)
	fewer.Generation = 2
	state.change(mine, func(r *record, _ *Effects) { state.setPodGroup(r, fewer) })
	if permission := state.permitted("a"); permission != Go {
		t.Errorf("%v", permission)
	}
	state = claiming(t)
	state.added(memberPod("c", "n3"), start)
	if permission := state.permitted("a"); permission != Go {
		t.Errorf("%v although the gang has started", permission)
	}
}
