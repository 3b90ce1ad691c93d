package ranks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/ranks"
)

func at(name string, rank int, path ...string) ranks.Member {
	return ranks.Member{UID: types.UID(name), Name: name, Path: path, Rank: rank}
}

func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		members []ranks.Member
		want    map[types.UID]int
	}{
		"numbers follow the tree of domains, then the names": {
			[]ranks.Member{
				at("p-10", ranks.None, "z1", "r1", "n1"), at("p-2", ranks.None, "z1", "r1", "n1"),
				at("a", ranks.None, "z2", "r1", "n9"), at("b", ranks.None, "z1", "r2", "n5"),
			},
			map[types.UID]int{"p-2": 0, "p-10": 1, "b": 2, "a": 3},
		},
		"a replacement gets the number of the pod that is gone": {
			[]ranks.Member{at("a", 0, "z1", "n1"), at("new", ranks.None, "z9", "n9"), at("c", 2, "z1", "n2")},
			map[types.UID]int{"a": 0, "new": 1, "c": 2},
		},
		"who comes later takes numbers behind the others": {
			[]ranks.Member{at("a", 0, "z1", "n2"), at("b", 1, "z1", "n3"), at("late", ranks.None, "z1", "n1")},
			map[types.UID]int{"a": 0, "b": 1, "late": 2},
		},
		"nobody": {nil, map[types.UID]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ranks.Of(c.members)); diff != "" {
				t.Errorf("ranks (-want +got):\n%s", diff)
			}
		})
	}
}

var key = gang.Key{Namespace: "ns", Name: "g"}

// Whatever the order in which the pods of a gang are bound, and whoever is lost on the way, no two have one rank.
func TestRanksOfBoundPodsDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book, bound := ranks.NewBook(), map[types.UID]int{}
		var members []ranks.Member
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				path := []string{rapid.StringMatching("[a-c]").Draw(t, "rack"), rapid.StringMatching("[a-c]").Draw(t, "node")}
				members = append(members, at(fmt.Sprint(step), ranks.None, path...))
			case 1:
				if len(members) > 0 {
					i := rapid.IntRange(0, len(members)-1).Draw(t, "bound")
					bound[members[i].UID] = book.Rank(key, members[i].UID, func() []ranks.Member { return slices.Clone(members) })
					if rapid.Bool().Draw(t, "shown") {
						members[i].Rank = bound[members[i].UID]
					}
				}
			case 2:
				if len(members) > 0 {
					i := rapid.IntRange(0, len(members)-1).Draw(t, "lost")
					delete(bound, members[i].UID)
					book.Drop(key, members[i].UID)
					members = slices.Delete(members, i, i+1)
				}
			}
			seen := map[int]types.UID{}
			for uid, rank := range bound {
				if other, twice := seen[rank]; twice {
					t.Fatalf("%s and %s have rank %d", uid, other, rank)
				}
				seen[rank] = uid
			}
		}
	})
}

func TestMembersAreAskedForOncePerGang(t *testing.T) {
	book, asked := ranks.NewBook(), 0
	members := func() []ranks.Member {
		asked++
		return []ranks.Member{at("a", ranks.None, "n1"), at("b", ranks.None, "n2")}
	}
	got := []int{book.Rank(key, "b", members), book.Rank(key, "a", members), book.Rank(key, "b", members)}
	if diff := cmp.Diff([]int{1, 0, 1}, got); diff != "" || asked != 1 {
		t.Errorf("asked %d times; ranks (-want +got):\n%s", asked, diff)
	}
	book.Forget(key)
	if got := book.Rank(key, "b", members); got != 1 || asked != 2 {
		t.Errorf("rank %d after %d looks", got, asked)
	}
}
