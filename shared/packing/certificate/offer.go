package certificate

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// offers bounds, node by node, the weight of the pods below the goal that the
// node takes. If groups have the weight, what a domain takes stands at its first
// node.
func (v *verifier) offers(s *state, by *scale) []int64 {
	if by.group != nil {
		return v.offersOfDomains(s, by)
	}
	offers := make([]int64, len(v.in.Nodes))
	asking, mark := v.asking(s, by)
	if len(asking) == 0 {
		return offers
	}
	all := v.emptyRegion()
	for _, a := range asking {
		for i, word := range a.nodes {
			all[i] |= word
		}
	}
	all.each(func(node int) { offers[node] = v.offer(node, asking, mark) })
	return offers
}

// asking is the pods of one kind that have a weight.
type asking struct {
	kind   int
	weight int64
	pods   int64
	nodes  region
	// last is the region that was added last: mostly all are one.
	last *uint64
}

// asking collects the pods that weigh, by kind, with the nodes that any of them
// may use; mark says the same as text, but for the nodes.
func (v *verifier) asking(s *state, by *scale) (list []asking, mark []byte) {
	index := map[int]int{}
	for leaf := s.goal; leaf < v.end[s.goal]; leaf++ {
		for _, pods := range v.in.Groups[leaf].Pending {
			v.spend(1)
			weight := v.weight(by, leaf, pods.Kind)
			if weight == 0 || !v.usable(s.regions[leaf], pods.Kind) {
				continue
			}
			i, known := index[pods.Kind]
			if !known {
				i = len(list)
				index[pods.Kind] = i
				list = append(list, asking{kind: pods.Kind, weight: weight, nodes: v.emptyRegion()})
			}
			list[i].pods += int64(len(pods.Names))
			if r := s.regions[leaf]; &r[0] != list[i].last {
				list[i].last = &r[0]
				v.spend(len(r))
				for k, word := range r {
					list[i].nodes[k] |= word
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b asking) int { return a.kind - b.kind })
	for i := range list {
		for k, word := range v.takes(list[i].kind) {
			list[i].nodes[k] &= word
		}
		for _, n := range []int64{int64(list[i].kind), list[i].weight, list[i].pods} {
			mark = binary.AppendVarint(mark, n)
		}
	}
	return list, mark
}

// offer is the weight that one node takes.
func (v *verifier) offer(node int, asking []asking, mark []byte) int64 {
	v.spend(1 + len(asking))
	key := append(binary.AppendUvarint(nil, uint64(v.alike(node))), mark...)
	for i := range asking {
		if asking[i].nodes.has(node) {
			key = binary.AppendUvarint(key, uint64(i))
		}
	}
	if weight, known := v.heaviest[string(key)]; known {
		return weight
	}
	var items []item
	for i := range asking {
		if a := &asking[i]; a.nodes.has(node) {
			items = append(items, item{weight: a.weight, count: a.pods, takes: v.requests[a.kind]})
		}
	}
	weight, tries := heaviest(items, slices.Clone(v.free[node]))
	v.spend(tries * (1 + len(items)))
	v.heaviest[string(key)] = weight
	return weight
}

// offersOfDomains bounds the weight of the groups that each domain takes.
func (v *verifier) offersOfDomains(s *state, by *scale) []int64 {
	sums := make([][]int64, len(by.by))
	for i, inner := range by.by {
		sums[i] = make([]int64, len(by.division.paths))
		for node, offer := range v.offers(s, inner) {
			if at := by.division.of[node]; at >= 0 {
				sums[i][at] = plus(sums[i][at], offer)
			}
		}
	}
	v.spend(len(v.in.Nodes) * (1 + len(sums)))
	classes := v.groupItems(s, by)
	offers := make([]int64, len(v.in.Nodes))
	for domain, nodes := range by.division.nodes {
		capacity := make([]int64, len(sums))
		for i := range sums {
			capacity[i] = sums[i][domain]
		}
		var items []item
		for i := range classes {
			v.spend(1)
			if slices.ContainsFunc(nodes, classes[i].region.has) {
				items = append(items, classes[i].item)
			}
		}
		weight, tries := heaviest(items, capacity)
		v.spend(tries * (1 + len(items)))
		offers[nodes[0]] = weight
	}
	return offers
}

// groupItem is groups that weigh and need the same, in one region.
type groupItem struct {
	item
	region region
}

// groupItems are the groups of a scale below the goal that can be satisfied.
func (v *verifier) groupItems(s *state, by *scale) []groupItem {
	var items []groupItem
	index := map[string]int{}
	for group := s.goal; group < v.end[s.goal]; group++ {
		weight, weighs := by.group[group]
		if _, possible := v.need(s, group, nil); !weighs || !possible || s.regions[group] == nil {
			continue
		}
		takes := make([]int64, len(by.by))
		for i, inner := range by.by {
			takes[i], _ = v.need(s, group, inner)
		}
		key := fmt.Sprint(weight, takes, &s.regions[group][0])
		at, known := index[key]
		if !known {
			at = len(items)
			index[key] = at
			items = append(items, groupItem{item{weight: weight, takes: takes}, s.regions[group]})
		}
		items[at].count++
	}
	return items
}
