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

// mostExchanges bounds how many exchanges are tried around pods that keep their nodes.
const mostExchanges = 1 << 18

// Arrange returns the pods with their nodes exchanged within each kind, so that a ring crosses few borders, all levels
// together. Where no pod keeps its node and all are of one kind, it crosses the fewest at each level: as many as
// domains are used, or none where that is one. Else no exchange of two nodes helps, which is one border in a hundred
// more than the fewest. The pods come back by their indices, and pods that differ in nothing but their names get equal
// nodes.
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
	if len(kinds) > 0 && len(places[kinds[0]]) < len(ring) {
		exchange(ring)
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

// distance is how many borders lie between two nodes.
func distance(a, b []string) int {
	return max(len(a), len(b)) - common(a, b)
}

// exchange swaps the nodes of two pods of a kind, beside all others, as long as that helps.
func exchange(ring []Pod) {
	n := len(ring)
	around := func(place int) int {
		return distance(ring[(place+n-1)%n].Path, ring[place].Path) + distance(ring[place].Path, ring[(place+1)%n].Path)
	}
	tried := 0
	for improved := true; improved; {
		improved = false
		for a := range ring {
			for b := a + 1; b < n && ring[a].Kind != ""; b++ {
				if ring[a].Kind != ring[b].Kind {
					continue
				}
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
