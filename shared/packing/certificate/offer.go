package certificate

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// offers gives for each node a bound of the weight of the pods below the goal that it
// takes. If groups have the weight, what a domain takes is given for its first node.
func (v *verifier) offers(s *state, by *scale, give func(node int, weight int64)) {
	if by.relation != nil {
		v.offersOfRelation(s, by, give)
		return
	}
	if by.group != nil {
		v.offersOfDomains(s, by, give)
		return
	}
	w := v.weighing(s, by)
	for _, node := range w.nodes {
		if weight := v.offer(int(node), w); weight > 0 {
			give(int(node), weight)
		}
	}
}

// weighing is the pods that have a weight, by kind, and the nodes that any may use.
type weighing struct {
	asking []asking
	nodes  []int32
	// number is equal for equal pods.
	number int
	// The pods that may use a node are those of asking numbered in listed from
	// first[node] to first[node+1]; first is nil if that is looked up for each node.
	first, listed []int32
	// some is for looking it up.
	some []int32
}

// list writes down, for each node, the kinds that may use it, if that is cheaper than asking each kind about each node.
func (v *verifier) list(w *weighing) {
	const oneByOne = 16
	words := v.nodes.Len()/64 + 1
	if len(w.asking) <= oneByOne || len(w.nodes) <= 4*words {
		return
	}
	each := func(visit func(i, node int)) {
		for i := range w.asking {
			v.spend(1 + words/16)
			for at, word := range w.asking[i].takes {
				for ; word != 0; word &= word - 1 {
					if node := at*64 + bits.TrailingZeros64(word); w.asking[i].confined(node) {
						visit(i, node)
					}
				}
			}
		}
	}
	first := make([]int32, v.nodes.Len()+2)
	each(func(_, node int) {
		v.spend(1)
		first[node+2]++
	})
	for node := 2; node < len(first); node++ {
		first[node] += first[node-1]
	}
	w.listed = make([]int32, first[len(first)-1])
	each(func(i, node int) {
		w.listed[first[node+1]] = int32(i)
		first[node+1]++
	})
	w.first = first
}

// users are the kinds that may use a node, as indices of asking.
func (v *verifier) users(w *weighing, node int) []int32 {
	v.spend(1)
	if w.first != nil {
		return w.listed[w.first[node]:w.first[node+1]]
	}
	v.spend(len(w.asking))
	w.some = w.some[:0]
	for i := range w.asking {
		if a := &w.asking[i]; a.takes.has(node) && a.confined(node) {
			w.some = append(w.some, int32(i))
		}
	}
	return w.some
}

// asking is the pods of one kind that have a weight.
type asking struct {
	kind    int
	weight  int64
	pods    int64
	takes   set
	regions []*region
	// within are the nodes of several regions.
	within set
}

// confined reports whether a node is in the region of any of the pods.
func (a *asking) confined(node int) bool {
	if len(a.regions) == 1 {
		return a.regions[0].has(node)
	}
	return a.within.has(node)
}

// weighing collects the pods that weigh.
func (v *verifier) weighing(s *state, by *scale) *weighing {
	w := &weighing{asking: make([]asking, 0, min(8, len(v.kinds)))}
	index := map[int]int{}
	var regions []*region
	add := func(some some, weight int64, r *region) {
		v.spend(1 + len(regions)/16)
		if weight == 0 || !v.usable(r, some.kind) {
			return
		}
		i, known := index[some.kind]
		if !known {
			i = len(w.asking)
			index[some.kind] = i
			w.asking = append(w.asking, asking{kind: some.kind, weight: weight, takes: v.takes(some.kind)})
		}
		a := &w.asking[i]
		a.pods += some.pods
		if !slices.Contains(a.regions, r) {
			a.regions = append(a.regions, r)
		}
		if !slices.Contains(regions, r) {
			regions = append(regions, r)
		}
	}
	if by.of == nil && !v.mixed(s, s.goal) {
		for _, placed := range v.podsOf(s.goal) {
			add(placed.some, v.weight(by, s.goal, placed.kind), v.now(s, s.goal, placed.region))
		}
	} else {
		for leaf := s.goal; leaf < v.end[s.goal]; leaf++ {
			for _, some := range v.pending[leaf] {
				add(some, v.weight(by, leaf, some.kind), v.region(s, leaf))
			}
		}
	}
	slices.SortFunc(w.asking, func(a, b asking) int { return a.kind - b.kind })
	var text []byte
	for i := range w.asking {
		a := &w.asking[i]
		if len(a.regions) > 1 {
			a.within = v.all(a.regions)
		}
		for _, n := range []int64{int64(a.kind), a.weight, a.pods} {
			text = binary.AppendVarint(text, n)
		}
	}
	w.number, w.nodes = v.asked.of(text), v.union(regions)
	v.list(w)
	return w
}

// all is the nodes of some regions as a set.
func (v *verifier) all(regions []*region) set {
	met := newSet(v.nodes.Len())
	for _, r := range regions {
		v.spend(len(r.nodes))
		for _, node := range r.nodes {
			met.add(int(node))
		}
	}
	return met
}

// union is the nodes of some regions.
func (v *verifier) union(regions []*region) []int32 {
	if len(regions) == 0 {
		return nil
	}
	if len(regions) == 1 {
		return regions[0].nodes
	}
	met := v.all(regions)
	var nodes []int32
	for node := range v.nodes.Len() {
		if met.has(node) {
			nodes = append(nodes, int32(node))
		}
	}
	return nodes
}

// offerOf is a node, by what is free there, and the pods that it may take: asked by
// number, and of these those in some.
type offerOf struct {
	row   int32
	asked int
	some  string
}

// offer is the weight that one node takes.
func (v *verifier) offer(node int, w *weighing) int64 {
	users := v.users(w, node)
	switch len(users) {
	case 0:
		return 0
	case 1:
		a := &w.asking[users[0]]
		return times(a.weight, fitting(a.pods, v.kinds[a.kind].requests, v.row(node)))
	}
	var room [64]byte
	some := room[:0]
	for _, i := range users {
		some = binary.AppendUvarint(some, uint64(i))
	}
	key := offerOf{v.rowOf(node), w.number, string(some)}
	if weight, known := v.heaviest[key]; known {
		return weight
	}
	v.items = v.items[:0]
	for _, i := range users {
		a := &w.asking[i]
		v.items = append(v.items, item{weight: a.weight, count: a.pods, takes: v.kinds[a.kind].requests})
	}
	weight := heaviest(v.items, v.row(node))
	v.spend((1 + len(users)) * (1 + len(v.resources)/16))
	if v.heaviest == nil {
		v.heaviest = map[offerOf]int64{}
	}
	v.heaviest[key] = weight
	return weight
}

// fitting is how many of some pods fit into what is free.
func fitting(pods int64, requests, free []int64) int64 {
	for r, asks := range requests {
		if asks > 0 {
			pods = min(pods, free[r]/asks)
		}
	}
	return pods
}

// offersOfDomains bounds the weight of the groups that each domain takes.
func (v *verifier) offersOfDomains(s *state, by *scale, give func(node int, weight int64)) {
	classes := v.groupItems(s, by)
	var regions []*region
	for i := range classes {
		if !slices.Contains(regions, classes[i].region) {
			regions = append(regions, classes[i].region)
		}
	}
	// number is the index of a domain among the domains that groups may use, plus 1.
	number, used := by.division.number, []int{}
	defer func() {
		for _, domain := range used {
			number[domain] = 0
		}
	}()
	for _, node := range v.union(regions) {
		if at := by.division.of[node]; at >= 0 && number[at] == 0 {
			used = append(used, at)
			number[at] = int32(len(used))
		}
	}
	v.spend(len(used) * len(by.by))
	capacity := make([]int64, len(used)*len(by.by))
	for i, inner := range by.by {
		v.offers(s, inner, func(node int, weight int64) {
			v.spend(1)
			if at := by.division.of[node]; at >= 0 && number[at] > 0 {
				sum := &capacity[int(number[at]-1)*len(by.by)+i]
				*sum = plus(*sum, weight)
			}
		})
	}
	items := make([]item, 0, len(classes))
	for k, domain := range used {
		nodes := by.division.nodesOf(domain)
		items = items[:0]
		for i := range classes {
			v.spend(1 + len(nodes)/fewNodes)
			if slices.ContainsFunc(nodes, func(node int32) bool { return classes[i].region.has(int(node)) }) {
				items = append(items, classes[i].item)
			}
		}
		room := capacity[k*len(by.by) : (k+1)*len(by.by)]
		weight := heaviest(unlimited(items, room), room)
		v.spend((1 + len(items)) * (1 + len(room)/16))
		if weight > 0 {
			give(int(nodes[0]), weight)
		}
	}
}

// unlimited has items take nothing of a sum that has come to the end of int64. It works in items.
func unlimited(items []item, room []int64) []item {
	if slices.Contains(room, math.MaxInt64) {
		for i := range items {
			items[i].takes = slices.Clone(items[i].takes)
			for r := range room {
				if room[r] == math.MaxInt64 {
					items[i].takes[r] = 0
				}
			}
		}
	}
	return items
}

// groupItem is groups that weigh and need the same, in one region.
type groupItem struct {
	item
	region *region
}

// groupItems are the groups of a scale below the goal that can be satisfied.
func (v *verifier) groupItems(s *state, by *scale) []groupItem {
	var items []groupItem
	index, alike := map[string]int{}, map[int]int{}
	uneven := func(by *scale) bool { return !v.even(by) }
	even := !uneven(by) && !v.mixed(s, s.goal) && !slices.ContainsFunc(by.by, uneven)
	for group := s.goal; group < v.end[s.goal]; group++ {
		weight, weighs := by.group[group]
		if !weighs {
			continue
		}
		at, known := none, false
		if even {
			at, known = alike[v.class[group]]
		}
		if !known {
			at = v.groupItem(s, group, weight, by, index, &items)
			if even {
				alike[v.class[group]] = at
			}
		}
		if at != none {
			items[at].count++
		}
	}
	return items
}

// none is no item, and no weight.
const none = -1

// groupItem gives the item of a group, which it adds if it is new; none if the group
// cannot be satisfied.
func (v *verifier) groupItem(s *state, group int, weight int64, by *scale, index map[string]int,
	items *[]groupItem) int {
	r := v.region(s, group)
	if _, possible := v.need(s, group, nil); !possible || r == nil {
		return none
	}
	takes := make([]int64, len(by.by))
	for i, inner := range by.by {
		takes[i], _ = v.need(s, group, inner)
	}
	key := fmt.Sprintf("%d %v %p", weight, takes, r)
	at, known := index[key]
	if !known {
		at = len(*items)
		index[key] = at
		*items = append(*items, groupItem{item{weight: weight, takes: takes}, r})
	}
	return at
}
