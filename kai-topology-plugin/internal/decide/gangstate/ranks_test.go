package gangstate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func newStateOfMine() *State {
	state := New(anyone, nil)
	state.PodGroupChanged(nil, asking().PodGroup, start)
	return state
}

func at(name string, rank int, path ...string) Member {
	return Member{UID: types.UID(name), Name: name, Path: path, Rank: rank}
}

func TestRanks(t *testing.T) {
	for name, c := range map[string]struct {
		members []Member
		want    map[types.UID]int
	}{
		"numbers follow the tree of domains, then the names": {
			[]Member{
				at("p-10", NoRank, "z1", "r1", "n1"), at("p-2", NoRank, "z1", "r1", "n1"),
				at("a", NoRank, "z2", "r1", "n9"), at("b", NoRank, "z1", "r2", "n5"),
			},
			map[types.UID]int{"p-2": 0, "p-10": 1, "b": 2, "a": 3},
		},
		"a replacement gets the number of the pod that is gone": {
			[]Member{at("a", 0, "z1", "n1"), at("new", NoRank, "z9", "n9"), at("c", 2, "z1", "n2")},
			map[types.UID]int{"a": 0, "new": 1, "c": 2},
		},
		"who comes later takes numbers behind the others": {
			[]Member{at("a", 0, "z1", "n2"), at("b", 1, "z1", "n3"), at("late", NoRank, "z1", "n1")},
			map[types.UID]int{"a": 0, "b": 1, "late": 2},
		},
		"nobody": {nil, map[types.UID]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, cmp.Diff(c.want, ranksOf(c.members)), "ranks")
		})
	}
}

// No two pods of a gang have one rank, whatever the order of bindings and losses.
func TestRanksOfBoundPodsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state, bound := newStateOfMine(), map[types.UID]int{}
		var members []Member
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				path := []string{rapid.StringMatching("[a-c]").Draw(t, "rack"), rapid.StringMatching("[a-c]").Draw(t, "node")}
				members = append(members, at(fmt.Sprint(step), NoRank, path...))
			case 1:
				if len(members) > 0 {
					i := rapid.IntRange(0, len(members)-1).Draw(t, "bound")
					bound[members[i].UID] = state.Rank(mine, members[i].UID, func(map[types.UID]string) []Member { return slices.Clone(members) })
					if rapid.Bool().Draw(t, "shown") {
						members[i].Rank = bound[members[i].UID]
					}
				}
			case 2:
				if len(members) > 0 {
					i := rapid.IntRange(0, len(members)-1).Draw(t, "lost")
					delete(bound, members[i].UID)
					delete(state.record(mine).ranks, members[i].UID)
					members = slices.Delete(members, i, i+1)
				}
			}
			seen := map[int]types.UID{}
			for uid, rank := range bound {
				other, twice := seen[rank]
				require.False(t, twice, "%s and %s have rank %d", uid, other, rank)
				seen[rank] = uid
			}
		}
	})
}

func TestMembersAreAskedForOncePerGang(t *testing.T) {
	state, asked := newStateOfMine(), 0
	members := func(map[types.UID]string) []Member {
		asked++
		return []Member{at("a", NoRank, "n1"), at("b", NoRank, "n2")}
	}
	got := []int{state.Rank(mine, "b", members), state.Rank(mine, "a", members), state.Rank(mine, "b", members)}
	assert.Empty(t, cmp.Diff([]int{1, 0, 1}, got))
	assert.Equal(t, 1, asked)
	clear(state.record(mine).ranks)
	assert.Equal(t, 1, state.Rank(mine, "b", members))
	assert.Equal(t, 2, asked)
}
