package search

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// bin is something that takes pods of one shape: a domain or a single node.
type bin struct {
	fit int64
	// domain is none for a node.
	domain, node int32
}

// fill places pods of one leaf and shape somewhere in a region: in the tightest
// (or emptiest) domain that takes them all, and so on down to nodes; where none
// does, in as few as possible. False, with nothing placed, when they do not fit.
// O(domains and nodes passed), plus a sort where pods are spread.
func (g *placer) fill(leaf, shape int, pods int64, r problem.Region) bool {
	if g.P.Related == nil || len(g.P.Related[leaf]) == 0 {
		return g.pack(leaf, shape, pods, r)
	}
	mark := len(g.Trail)
	if of := g.P.Counting(leaf, r); of.Level == counts.None && g.pack(leaf, shape, pods, r) ||
		of.Level != counts.None && g.packApart(leaf, shape, pods, r, of) {
		if g.P.Excess == 0 {
			return true
		}
	}
	g.Undo(mark)
	return false
}

// packApart is pack where relations of the leaf count in the domains of a level:
// those first that may take most of the pods. On false something may remain.
func (g *placer) packApart(leaf, shape int, pods int64, r problem.Region, of problem.LevelOf) bool {
	type share struct {
		in          problem.Region
		takes, room int64
	}
	var shares []share
	for _, in := range g.P.DomainsIn(r, of.Slot, of.Level) {
		room := g.P.Capacity(in, shape)
		if takes := min(pods, room, g.P.Allowance(leaf, in.Within(of.Slot), of)); takes > 0 {
			shares = append(shares, share{in, takes, g.tightness(room)})
		}
	}
	g.Steps += len(shares) / 4
	slices.SortStableFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.takes, a.takes), cmp.Compare(a.room, b.room))
	})
	for _, s := range shares {
		// Relations of broader levels may have been used up.
		if n := min(pods, s.takes, g.P.Allowance(leaf, s.in.Within(of.Slot), of)); n > 0 && g.pack(leaf, shape, n, s.in) {
			pods -= n
		}
		if pods == 0 {
			return true
		}
	}
	return false
}

// pack is fill for pods that no relation keeps apart.
func (g *placer) pack(leaf, shape int, pods int64, r problem.Region) bool {
	if g.P.Capacity(r, shape) < pods && !g.Widen(shape, pods, r) && !g.shift(shape, pods, r) {
		return false
	}
	if g.P.Shapes[shape].Sparse != nil {
		g.packSparse(leaf, shape, pods, r)
		return true
	}
	if len(r.Filters) > 0 {
		mark := len(g.bins)
		g.P.Nodes(r, func(node int32) { g.addNode(shape, node) })
		g.fillBins(leaf, shape, pods, r.Slot, mark)
		return true
	}
	if r.At == counts.Whole {
		r.Slot = g.P.Tree
	}
	g.fillDomain(leaf, shape, pods, r.Place)
	return true
}

// packFew is pack for a kind with few nodes: of those the tightest that takes all pods, or
// several; of nodes alike the first by name.
func (g *placer) packSparse(leaf, shape int, pods int64, r problem.Region) {
	sparse, mark := g.P.Shapes[shape].Sparse, len(g.bins)
	g.Steps += len(sparse.Nodes) / 8
	best := bin{node: counts.None}
	for at, node := range sparse.Nodes {
		fit := int64(sparse.Fits[at])
		if fit == 0 || !g.P.Includes(r, node) {
			continue
		}
		g.bins = append(g.bins, bin{fit: fit, domain: counts.None, node: node})
		if fit < pods {
			continue
		}
		tighter := int64(-1)
		if best.node != counts.None {
			tighter = g.tightness(fit) - g.tightness(best.fit)
		}
		if tighter < 0 || tighter == 0 && g.P.Cluster.NodeName(node) < g.P.Cluster.NodeName(best.node) {
			best = bin{fit: fit, domain: counts.None, node: node}
		}
	}
	if best.node != counts.None {
		g.bins = g.bins[:mark]
		g.pour(leaf, shape, pods, r.Slot, best)
		return
	}
	// The order of nodes depends on the cluster's history.
	slices.SortFunc(g.bins[mark:], func(a, b bin) int {
		return cmp.Compare(g.P.Cluster.NodeName(a.node), g.P.Cluster.NodeName(b.node))
	})
	g.fillBins(leaf, shape, pods, r.Slot, mark)
}

func (g *placer) fillDomain(leaf, shape int, pods int64, in problem.Place) {
	d := &g.P.Cluster.Topologies[in.Slot].Domains[in.At]
	if len(d.Nodes) == 1 && len(d.Children) == 0 {
		g.Put(leaf, shape, d.Nodes[0], int32(pods))
		return
	}
	if best, ok := g.taking(shape, pods, in.Slot, d); ok {
		g.pour(leaf, shape, pods, in.Slot, best)
		return
	}
	g.fillUnits(leaf, shape, pods, in, d.Level+1)
}

// taking gives the tightest node or domain right below one that takes all pods, the
// first of several; false if none does. O(nodes and domains right below), a nanosecond
// each.
func (g *placer) taking(shape int, pods int64, slot int, d *counts.Domain) (bin, bool) {
	s := g.P.Shapes[shape]
	g.Steps += (len(d.Nodes) + len(d.Children)) / problem.Passed
	best := bin{domain: counts.None, node: counts.None}
	if at := tightestOf(s.Fit, d.Nodes, pods, g.emptiest); at != counts.None {
		best.node, best.fit = at, int64(s.Fit[at])
	}
	if at := tightestOf(s.Sums[slot], d.Children, pods, g.emptiest); at != counts.None {
		if fit := s.Sums[slot][at]; best.node == counts.None || g.tightness(fit) < g.tightness(best.fit) {
			best = bin{fit: fit, domain: at, node: counts.None}
		}
	}
	return best, best.fit > 0
}

// tightestOf gives of some nodes or domains with room for so many pods the first that has least room, or most if the
// emptiest is wanted; none if none has. The look at one is a subtraction and a comparison: as an unsigned number, too
// little room is far too much.
func tightestOf[room int32 | int64](rooms []room, among []int32, pods int64, emptiest bool) int32 {
	sign, offset, least := int64(1), -pods, uint64(math.MaxInt64)
	if emptiest {
		sign, offset, least = -1, math.MaxInt64, uint64(math.MaxInt64-pods)+1
	}
	best := int32(counts.None)
	for _, at := range among {
		if excess := uint64(sign*int64(rooms[at]) + offset); excess < least {
			if best, least = at, excess; excess == 0 {
				break
			}
		}
	}
	return best
}

func (g *placer) addNode(shape int, node int32) {
	if fit := g.P.Shapes[shape].On(node); fit > 0 {
		g.bins = append(g.bins, bin{fit: int64(fit), domain: counts.None, node: node})
	}
}

// fillBins distributes pods over the bins from mark on, which take them
// together, and drops those bins.
func (g *placer) fillBins(leaf, shape int, pods int64, slot, mark int) {
	best := counts.None
	for i := mark; i < len(g.bins); i++ {
		if fit := g.bins[i].fit; fit >= pods && (best == counts.None || g.tightness(fit) < g.tightness(g.bins[best].fit)) {
			best = i
		}
	}
	if best == counts.None {
		slices.SortStableFunc(g.bins[mark:], func(a, b bin) int { return cmp.Compare(b.fit, a.fit) })
		for next := mark; pods > 0; next++ {
			if g.bins[next].fit >= pods {
				if best = next; !g.emptiest {
					best = tightest(g.bins, next, pods)
				}
				break
			}
			pods -= g.bins[next].fit
			g.pour(leaf, shape, g.bins[next].fit, slot, g.bins[next])
		}
	}
	if best != counts.None {
		g.pour(leaf, shape, pods, slot, g.bins[best])
	}
	g.bins = g.bins[:mark]
}

// tightest returns the index of the first of the smallest bins that take the pods. Bins are sorted from large to small,
// and the bin at from takes the pods.
func tightest(bins []bin, from int, pods int64) int {
	after := from + sort.Search(len(bins)-from, func(i int) bool { return bins[from+i].fit < pods })
	fit := bins[after-1].fit
	return from + sort.Search(len(bins)-from, func(i int) bool { return bins[from+i].fit <= fit })
}

func (g *placer) pour(leaf, shape int, pods int64, slot int, into bin) {
	g.Steps++
	if into.domain == counts.None {
		g.Put(leaf, shape, into.node, int32(pods))
		return
	}
	g.fillDomain(leaf, shape, pods, problem.Place{Slot: slot, At: into.domain})
}
