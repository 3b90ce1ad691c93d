// Package ranks says which of alike pods takes which of the nodes that were found for them, so that neighbours by index
// are neighbours in the network: of a ring of all pods of a leaf, as few links as possible cross a border.
package ranks

import (
	"slices"
)

// Pod is a pod of a leaf that has an index, and a node.
type Pod struct {
	// Name of the pod.
	Name string
	// Index is its number among the pods of the leaf, from 0 on. No two have the same.
	Index int
	// Kind is the same of pods that can take each other's nodes; empty for one that keeps its own, as a pod that
	// stands.
	Kind string
	// Path has the domains of its node from the broadest level down, and the node's name, which no other has, at last.
	Path []string
}

// common is how many levels two nodes share.
func common(a, b []string) int {
	shared := 0
	for shared < len(a) && shared < len(b) && a[shared] == b[shared] {
		shared++
	}
	return shared
}

// Bounds of the search for the best order around pods that keep their nodes. Beyond mostStates the order is improved by
// a bounded number of exchanges, as long as one helps.
const (
	mostStates    = 1 << 16
	mostExchanges = 1 << 18
)

// Arrange returns the pods with their nodes exchanged within each kind: of all such exchanges one by which a ring
// crosses the fewest borders, all levels together. Where no pod keeps its node and all are of one kind, it is the
// fewest at each level: as many as domains are used, or none where that is one. The pods come back by their indices,
// and pods that differ in nothing but their names get equal nodes.
func Arrange(pods []Pod) []Pod {
	ring := byIndex(pods)
	places := map[string][]int{}
	var kinds []string
	for i, pod := range ring {
		if pod.Kind == "" {
			continue
		}
		if places[pod.Kind] == nil {
			kinds = append(kinds, pod.Kind)
		}
		places[pod.Kind] = append(places[pod.Kind], i)
	}
	for _, kind := range kinds {
		inTreeOrder(ring, places[kind])
	}
	for _, kind := range kinds {
		if len(places[kind]) < len(ring) {
			around(ring, places[kind])
		}
	}
	return ring
}

// byIndex returns pods in the order of their indices: without a comparison where none is left out, as is usual.
func byIndex(pods []Pod) []Pod {
	ring := make([]Pod, len(pods))
	for _, pod := range pods {
		if pod.Index >= len(ring) {
			copy(ring, pods)
			slices.SortFunc(ring, func(a, b Pod) int { return a.Index - b.Index })
			break
		}
		ring[pod.Index] = pod
	}
	return ring
}

// inTreeOrder gives pods their nodes in the order of the tree. Only different nodes are compared.
func inTreeOrder(ring []Pod, places []int) {
	var paths [][]string
	pods := map[string]int{}
	for _, place := range places {
		path := ring[place].Path
		node := path[len(path)-1]
		if pods[node] == 0 {
			paths = append(paths, path)
		}
		pods[node]++
	}
	if len(paths) == 1 {
		return
	}
	slices.SortFunc(paths, slices.Compare)
	at := 0
	for _, path := range paths {
		for range pods[path[len(path)-1]] {
			ring[places[at]].Path = path
			at++
		}
	}
}

// around exchanges the nodes of the pods at places for the best order beside all other pods, which keep theirs. Each of
// the nodes can take each of the pods, so that an order exists.
func around(ring []Pod, places []int) {
	s := search{ring: ring, taken: make([]bool, len(ring)), known: map[state]step{}}
	s.begin(places)
	if s.states() > mostStates {
		exchange(ring, places)
		return
	}
	s.best(0, nowhere)
	s.follow()
}

// nowhere is the path before the first.
const nowhere = -1

// search goes along the places of a kind, and at each has what is left of the nodes.
type search struct {
	ring   []Pod
	places []int
	// taken marks the places in the ring.
	taken []bool
	// paths are the different nodes, in the order of the tree, left how many pods each has yet to get, and all how many
	// it gets.
	paths [][]string
	left  []int
	all   []int
	known map[state]step
}

// state is all that the cost of the rest depends on: how many pods each path has left, as one number, and the path
// before.
type state struct{ left, last int }

// step is the best choice in a state, and what the rest costs by it.
type step struct{ path, cost int }

// begin counts the nodes, and puts the places into the order of the ring from one on that is behind a pod which keeps
// its node.
func (s *search) begin(places []int) {
	for _, place := range places { // In the order of the tree, which they have been given.
		path := s.ring[place].Path
		if last := len(s.paths) - 1; last < 0 || slices.Compare(s.paths[last], path) != 0 {
			s.paths, s.left = append(s.paths, path), append(s.left, 0)
		}
		s.left[len(s.left)-1]++
		s.taken[place] = true
	}
	s.all = slices.Clone(s.left)
	n := len(s.ring)
	first := slices.IndexFunc(places, func(place int) bool { return !s.taken[(place+n-1)%n] })
	s.places = slices.Concat(places[first:], places[:first])
}

func (s *search) states() int {
	states := len(s.paths)
	for _, left := range s.left {
		if states *= left + 1; states > mostStates {
			break
		}
	}
	return states
}

func (s *search) key(last int) state {
	number := 0
	for i, left := range s.left {
		number = number*(s.all[i]+1) + left
	}
	return state{left: number, last: last}
}

// best returns what the links cost that touch the places from the given one on, but for links counted before.
func (s *search) best(at, last int) int {
	if at == len(s.places) {
		return 0
	}
	key := s.key(last)
	if found, ok := s.known[key]; ok {
		return found.cost
	}
	chosen := step{path: nowhere}
	for path := range s.paths {
		if s.left[path] == 0 {
			continue
		}
		s.left[path]--
		cost := s.links(at, last, path) + s.best(at+1, path)
		s.left[path]++
		if chosen.path == nowhere || cost < chosen.cost {
			chosen = step{path: path, cost: cost}
		}
	}
	s.known[key] = chosen
	return chosen.cost
}

// links is what a path costs at a place: the link to the pod before, and the one to the pod behind if that keeps its
// node.
func (s *search) links(at, last, path int) int {
	place, n := s.places[at], len(s.ring)
	before, behind := (place+n-1)%n, (place+1)%n
	cost := 0
	if s.taken[before] { // Then it is the place before, since the first one is behind a pod that keeps its node.
		cost += distance(s.paths[last], s.paths[path])
	} else {
		cost += distance(s.ring[before].Path, s.paths[path])
	}
	if !s.taken[behind] {
		cost += distance(s.paths[path], s.ring[behind].Path)
	}
	return cost
}

// follow gives the pods the nodes that were found.
func (s *search) follow() {
	last := nowhere
	for _, place := range s.places {
		chosen := s.known[s.key(last)].path
		s.ring[place].Path = s.paths[chosen]
		s.left[chosen]--
		last = chosen
	}
}

// distance is how many borders lie between two nodes.
func distance(a, b []string) int {
	return max(len(a), len(b)) - common(a, b)
}

// exchange swaps the nodes of two pods as long as that helps.
func exchange(ring []Pod, places []int) {
	n := len(ring)
	around := func(place int) int {
		return distance(ring[(place+n-1)%n].Path, ring[place].Path) + distance(ring[place].Path, ring[(place+1)%n].Path)
	}
	tried := 0
	for improved := true; improved; {
		improved = false
		for i, a := range places {
			for _, b := range places[i+1:] {
				if tried++; tried > mostExchanges {
					return
				}
				before := around(a) + around(b)
				ring[a].Path, ring[b].Path = ring[b].Path, ring[a].Path
				if around(a)+around(b) < before {
					improved = true
					continue
				}
				ring[a].Path, ring[b].Path = ring[b].Path, ring[a].Path
			}
		}
	}
}
