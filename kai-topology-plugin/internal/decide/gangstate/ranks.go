package gangstate

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// Member is a pod of a group that has a node, or is about to have one.
type Member struct {
	UID  types.UID
	Name string
	// Path has the domains of the node from the broadest level down, and the name of the node.
	Path []string
	// Rank is the number with which the pod was bound; NoRank if it has none yet.
	Rank int
}

// NoRank is no rank.
const NoRank = -1

// ranksOf gives each member without a rank the lowest free one, in the order of their paths, then of their names, so
// that pods with neighbouring ranks are near each other. A pod keeps its rank for good, and its replacement gets it.
func ranksOf(members []Member) map[types.UID]int {
	members = slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		return cmp.Or(
			slices.Compare(a.Path, b.Path), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name),
		)
	})
	ranks, taken := make(map[types.UID]int, len(members)), make(map[int]bool, len(members))
	for _, member := range members {
		if member.Rank != NoRank {
			ranks[member.UID], taken[member.Rank] = member.Rank, true
		}
	}
	next := 0
	for _, member := range members {
		if member.Rank != NoRank {
			continue
		}
		for taken[next] {
			next++
		}
		ranks[member.UID] = next
		next++
	}
	return ranks
}

// Rank returns the rank of a pod that is being bound. If its group has not been given ranks yet, members are asked for,
// given the nodes that pods of the gang are to go to, and all get theirs: each member's rank is written by a request of
// its own, and all must agree.
func (s *State) Rank(key gang.Key, pod types.UID, members func(nodes map[types.UID]string) []Member) int {
	if rank, known := s.rankOf(key, pod); known {
		return rank
	}
	return s.rank(key, pod, members(s.nodeOf(key)))
}

func (s *State) rankOf(key gang.Key, pod types.UID) (rank int, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	rank, known = s.known(key).ranks[pod]
	return rank, known
}

func (s *State) rank(key gang.Key, pod types.UID, members []Member) (rank int) {
	s.change(key, func(r *record, _ *Effects) {
		known, done := r.ranks[pod]
		if rank = known; done {
			return
		}
		for i := range members {
			if rank, known := r.ranks[members[i].UID]; known {
				members[i].Rank = rank
			}
		}
		for uid, rank := range ranksOf(members) {
			r.ranks[uid] = rank
		}
		rank = r.ranks[pod]
	})
	return rank
}
