// Package ranks numbers the pods of a group along the topology, so that pods with neighbouring numbers stand next to each other.
package ranks

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Member is a pod of a group that has a node, or is about to have one.
type Member struct {
	UID  types.UID
	Name string
	// Path has the domains of the node from the broadest level down, and the name of the node.
	Path []string
	// Rank is the number with which the pod was bound; None if it has none yet.
	Rank int
}

// None is no rank.
const None = -1

// Of gives each member that has no rank the lowest that is free, in the order of their paths, then of their names. A pod thus keeps
// its rank for good, and who takes its place gets it.
func Of(members []Member) map[types.UID]int {
	members = slices.SortedFunc(slices.Values(members), func(a, b Member) int {
		return cmp.Or(slices.Compare(a.Path, b.Path), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	ranks, taken := make(map[types.UID]int, len(members)), make(map[int]bool, len(members))
	for _, member := range members {
		if member.Rank != None {
			ranks[member.UID], taken[member.Rank] = member.Rank, true
		}
	}
	next := 0
	for _, member := range members {
		if member.Rank != None {
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

// Book remembers the ranks of pods that are being bound: each is told its own by another request, and all have to go together.
type Book struct {
	mu    sync.Mutex
	gangs map[gang.Key]map[types.UID]int
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{gangs: map[gang.Key]map[types.UID]int{}}
}

// Rank returns the rank of a pod. Members are asked for once for all pods of a group that are bound together; the pod is one of
// them.
func (b *Book) Rank(key gang.Key, pod types.UID, members func() []Member) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if rank, known := b.gangs[key][pod]; known {
		return rank
	}
	group := members()
	for i := range group {
		if rank, known := b.gangs[key][group[i].UID]; known {
			group[i].Rank = rank
		}
	}
	if b.gangs[key] == nil {
		b.gangs[key] = map[types.UID]int{}
	}
	for uid, rank := range Of(group) {
		b.gangs[key][uid] = rank
	}
	return b.gangs[key][pod]
}

// Drop forgets a pod that is gone: its rank is free.
func (b *Book) Drop(key gang.Key, pod types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.gangs[key], pod)
	if len(b.gangs[key]) == 0 {
		delete(b.gangs, key)
	}
}

// Forget forgets the pods of a gang, for one that is gone or planned anew. Those that were bound have their ranks themselves.
func (b *Book) Forget(key gang.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.gangs, key)
}
