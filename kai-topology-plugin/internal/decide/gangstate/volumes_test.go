package gangstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		require.True(t, state.assumedOn(memberPod(pod, node)), "not planned")
	}
	state.Permit(mine, "a", version(1), "")
	permission, _ := state.Permit(mine, "b", version(1), "data-b")
	require.Equal(t, Go, permission, "not let go")
	return state
}

func (s *State) permitted(pod types.UID) Permission {
	permission, _ := s.Provided(mine, pod)
	return permission
}

func TestNoPodIsBoundBeforeTheGangHasItsVolumes(t *testing.T) {
	state := claiming(t)
	require.Equal(t, Wait, state.permitted("a"))
	require.Equal(t, "data-b", state.Status(groupOf(2)).Claim)
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
			assert.Empty(t, reservedNames(state, other), "room is kept")
			assert.Empty(t, state.record(mine).claims, "room is kept")
		})
	}
}

func TestAnOptionalPodHoldsUpNoOther(t *testing.T) {
	state := claiming(t)
	fewer := groupOf(1)
	fewer.Generation = 2
	state.change(mine, func(r *record, _ *Effects) { state.setPodGroup(r, fewer) })
	assert.Equal(t, Go, state.permitted("a"))
	state = claiming(t)
	state.added(memberPod("c", "n3"), start)
	assert.Equal(t, Go, state.permitted("a"), "although the gang has started")
}
