package shapes

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/gang"
)

// MaxInUse is how many shapes are counted of those that gangs have; named ones come before them.
const MaxInUse = 8

// InUse knows the shapes of the gangs that there are. A gang is only read again when something was seen of it. The zero
// value is ready. Anybody may touch, while one at a time asks.
type InUse struct {
	// touched has the keys of gangs.
	touched sync.Map
	all     atomic.Bool
	// of has the names of the shapes of each gang, also of one that has none.
	of    map[gang.Key][]string
	known map[string]*use
}

// use is a shape and how many groups have it.
type use struct {
	shape  capacity.Shape
	groups int
}

// Touch has a gang read again.
func (u *InUse) Touch(key gang.Key) { u.touched.Store(key, nil) }

// TouchAll has all gangs read again.
func (u *InUse) TouchAll() { u.all.Store(true) }

// Most returns the shapes that most groups have, at most so many, the most frequent first and then by name. Read
// returns the shapes of a gang as it is now, and false if there is no such gang.
func (u *InUse) Most(count int, read func(gang.Key) ([]capacity.Shape, bool)) []capacity.Shape {
	for key := range u.take() {
		shapes, exists := read(key)
		u.replace(key, shapes, exists)
	}
	uses := slices.SortedFunc(maps.Values(u.known), func(a, b *use) int {
		return cmp.Or(cmp.Compare(b.groups, a.groups), cmp.Compare(a.shape.Name, b.shape.Name))
	})
	var most []capacity.Shape
	for _, use := range uses[:min(count, len(uses))] {
		most = append(most, use.shape)
	}
	return most
}

// take returns the gangs that are to be read.
func (u *InUse) take() sets.Set[gang.Key] {
	touched := sets.New[gang.Key]()
	if u.all.Swap(false) {
		touched = sets.KeySet(u.of)
	}
	for key := range u.touched.Range {
		u.touched.Delete(key) // Whoever touches it from now on has it read once more.
		touched.Insert(key.(gang.Key))
	}
	return touched
}

func (u *InUse) replace(key gang.Key, shapes []capacity.Shape, exists bool) {
	if u.of == nil {
		u.of, u.known = map[gang.Key][]string{}, map[string]*use{}
	}
	for _, name := range u.of[key] {
		if u.known[name].groups--; u.known[name].groups == 0 {
			delete(u.known, name)
		}
	}
	delete(u.of, key)
	if !exists {
		return
	}
	names := make([]string, len(shapes))
	for i, shape := range shapes {
		names[i] = shape.Name
		if u.known[shape.Name] == nil {
			u.known[shape.Name] = &use{shape: shape}
		}
		u.known[shape.Name].groups++
	}
	u.of[key] = names
}
