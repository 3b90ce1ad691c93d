package gangstate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// sharingGang is a state in which a gang of two pods has got its nodes; a allocates the claim that b uses too.
func sharingGang(t *testing.T, rides string) (state *State, of Permission, effects Effects) {
	t.Helper()
	state = known(2, memberPod("a", ""), memberPod("b", ""))
	state.change(mine, func(r *record, _ *Effects) {
		r.open(version(1), needing(2), false, []Placement{
			{Pod: memberPod("a", ""), Node: "n1"}, {Pod: memberPod("b", ""), Node: "n2"},
		})
	})
	share := func(pod, node string, sharing kubeframework.Sharing) (Permission, Effects) {
		wanted, _ := state.Assumed(mine, memberPod(pod, node), sharing)
		require.True(t, wanted, "not planned")
		return state.Permit(mine, types.UID(pod), version(1), "")
	}
	permission, _ := share("a", "n1", kubeframework.Sharing{Allocates: []string{"channel"}})
	require.Equal(t, Wait, permission)
	of, effects = share("b", "n2", kubeframework.Sharing{Rides: []string{rides}})
	return state, of, effects
}

func TestAPodIsBoundAfterTheOneThatAllocatesTheirClaim(t *testing.T) {
	state, permission, effects := sharingGang(t, "channel")
	require.Equal(t, Wait, permission)
	require.Equal(t, []types.UID{"a"}, effects.Allow)
	if permission, effects = state.Provided(mine, "a"); permission != Go || !slices.Equal(effects.Allow, []types.UID{"b"}) {
		t.Errorf("%v, and %v go, once the claim is allocated", permission, effects.Allow)
	}
	assert.Equal(t, []types.UID{"b"}, state.Tick(start).Allow, "go, if one was not in the list of those that wait yet")
}

func TestPodsThatShareAClaimAreEnteredInItOneAfterTheOther(t *testing.T) {
	state, _, _ := sharingGang(t, "channel")
	state.change(mine, func(r *record, _ *Effects) {
		late := *r.assumed["b"]
		late.pod = memberPod("c", "n3")
		r.assumed["c"] = &late
	})
	for _, step := range []struct{ provided, next types.UID }{{"a", "b"}, {"b", "c"}} {
		if _, effects := state.Provided(mine, step.provided); !slices.Equal(effects.Allow, []types.UID{step.next}) {
			t.Errorf("after %s %v go, want %s", step.provided, effects.Allow, step.next)
		}
	}
	if _, effects := state.Provided(mine, "c"); len(effects.Allow) > 0 || len(state.Tick(start).Allow) > 0 {
		t.Errorf("%v go, and all have", effects.Allow)
	}
}

func TestPodsWithAnUnallocatedClaimComeBack(t *testing.T) {
	state, _, _ := sharingGang(t, "channel")
	effects := state.Unassumed(mine, "a", start)
	if len(effects.Reject) == 0 || effects.Reject[0].Pod != "b" || len(effects.Allow) > 0 {
		t.Errorf("rejected are %v, and %v go", effects.Reject, effects.Allow)
	}
	state.Unassumed(mine, "b", start)
	assert.Empty(t, reservedNames(state, other), "room is kept")
	assert.Empty(t, state.record(mine).claims, "room is kept")
}

func TestAPodDoesNotWaitForAClaimThatAnotherGangAllocates(t *testing.T) {
	_, permission, _ := sharingGang(t, "elsewhere")
	assert.Equal(t, Return, permission)
}
