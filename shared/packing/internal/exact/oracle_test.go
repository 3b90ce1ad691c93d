package exact

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// brute tries each place of each item. What remains to be placed and is free is tried once.
type brute struct {
	*Instance
	free [][]int64
	seen map[string]bool
}

// wanted is a number of items that have to be placed within a domain.
type wanted struct{ item, count, within int }

// possible reports whether some items fit into a domain together.
func possible(in *Instance, domain int, c Counts) bool {
	b := &brute{Instance: in, seen: map[string]bool{}}
	for _, free := range in.Free {
		b.free = append(b.free, slices.Clone(free))
	}
	return b.place(b.contents(nil, c, domain))
}

// contents puts what is in a group before what is wanted already, groups at the end.
func (b *brute) contents(before []wanted, c Counts, within int) []wanted {
	after := slices.Clone(before)
	for i, n := range c {
		if n > 0 {
			after = append(after, wanted{i, n, within})
		}
	}
	return after
}

// place takes the last of what is wanted.
func (b *brute) place(all []wanted) bool {
	if len(all) == 0 {
		return true
	}
	key := fmt.Sprint(all, b.free)
	if b.seen[key] {
		return false
	}
	b.seen[key] = true
	last := all[len(all)-1]
	rest := slices.Clone(all[:len(all)-1])
	if last.count > 1 {
		rest = append(rest, wanted{last.item, last.count - 1, last.within})
	}
	it := &b.Items[last.item]
	if it.Level != None {
		return b.placeGroup(it, rest, last.within)
	}
	for _, n := range b.Domains[last.within].All {
		if it.Allowed[n] && fitting(it.Requests, b.free[n]) > 0 {
			b.take(n, it, 1)
			found := b.place(rest)
			if b.take(n, it, -1); found {
				return true
			}
		}
	}
	return false
}

// placeGroup tries each domain that provides the level of a group.
func (b *brute) placeGroup(it *Item, rest []wanted, within int) bool {
	if b.Domains[within].Level >= it.Level {
		return b.place(b.contents(rest, it.Content, within))
	}
	return slices.ContainsFunc(b.Domains[within].Children, func(child int) bool { return b.placeGroup(it, rest, child) })
}

func (b *brute) take(node int, it *Item, times int64) {
	for r, amount := range it.Requests {
		b.free[node][r] -= times * amount
	}
}

// placeable reports whether pods that ask for one resource fit on nodes: node by node, by what may be left
// if each takes what it can.
func placeable(in *Instance) bool {
	left := map[string]Counts{"": in.Total}
	for n := range in.Free {
		next := map[string]Counts{}
		for _, rest := range left {
			most := slices.Clone(rest)
			for class := range most {
				most[class] = min(most[class], fitting(in.Items[class].Requests, in.Free[n]))
			}
			each(most, func(c Counts) {
				if onNode(in, n, c) && !extends(c, rest, func(c Counts) bool { return onNode(in, n, c) }) {
					after := minus(rest, c)
					next[keyOf(0, after)] = after
				}
			})
		}
		left = next
	}
	_, ok := left[keyOf(0, make(Counts, len(in.Total)))]
	return ok
}

// onNode reports whether pods fit on a node together.
func onNode(in *Instance, node int, c Counts) bool {
	for class, n := range c[:in.Classes] {
		if n > 0 && !in.Items[class].Allowed[node] {
			return false
		}
	}
	for r, free := range in.Free[node] {
		for class, n := range c[:in.Classes] {
			free -= int64(n) * in.Items[class].Requests[r]
		}
		if free < 0 {
			return false
		}
	}
	return empty(c[in.Classes:])
}

// each calls visit for all counts up to most.
func each(most Counts, visit func(Counts)) {
	c := make(Counts, len(most))
	var choose func(int)
	choose = func(i int) {
		if i == len(most) {
			visit(c)
			return
		}
		for n := range most[i] + 1 {
			c[i] = n
			choose(i + 1)
		}
		c[i] = 0
	}
	choose(0)
}

// checkPacking judges a packing of everything.
func checkPacking(t *rapid.T, in *Instance, root *Packing) {
	free := make([][]int64, len(in.Free))
	for n := range free {
		free[n] = slices.Clone(in.Free[n])
	}
	checkDomain(t, in, root, slices.Clone(in.Total), free)
	for n := range free {
		for r, left := range free[n] {
			require.GreaterOrEqual(t, left, int64(0), "node %d lacks %d of resource %d", n, -left, r)
		}
	}
}

// checkDomain wants a domain to have just these items, in it or in bins within.
func checkDomain(t *rapid.T, in *Instance, p *Packing, items Counts, free [][]int64) {
	d := &in.Domains[p.Domain]
	for i := len(items) - 1; i >= in.Classes; i-- {
		if in.Items[i].Level <= d.Level {
			for k, n := range in.Items[i].Content {
				items[k] += n * items[i]
			}
			items[i] = 0
		}
	}
	for _, part := range p.Parts {
		for i, n := range part.Counts {
			items[i] -= n
		}
		if part.Inner != nil {
			require.Contains(t, d.Children, part.Inner.Domain,
				"domain %d is not directly in domain %d", part.Inner.Domain, p.Domain)
			checkDomain(t, in, part.Inner, append(slices.Clone(part.Counts), make(Counts, len(in.Items)-len(part.Counts))...),
				free)
			continue
		}
		for i, n := range part.Counts {
			require.False(t, n > 0 && (i >= in.Classes || !in.Items[i].Allowed[part.Node] || !slices.Contains(d.All, part.Node)),
				"node %d has item %d, which it may not", part.Node, i)
			for r := 0; n > 0 && r < len(free[part.Node]); r++ {
				free[part.Node][r] -= int64(n) * in.Items[i].Requests[r]
			}
		}
	}
	for i, n := range items {
		require.Zero(t, n, "of item %d are missing in domain %d", i, p.Domain)
	}
}

// checkNodes judges how pods lie on the nodes of an instance without racks.
func checkNodes(t *testing.T, in *Instance, root *Packing) {
	t.Helper()
	left := minus(in.Total, nil)
	seen := map[int]bool{}
	for _, part := range root.Parts {
		assert.False(t, seen[part.Node], "node %d has %v", part.Node, part.Counts)
		assert.True(t, onNode(in, part.Node, part.Counts), "node %d has %v", part.Node, part.Counts)
		seen[part.Node], left = true, minus(left, part.Counts)
	}
	assert.True(t, empty(left), "%v are left", left)
}

// extends reports whether one more of what is left fits too.
func extends(c, rest Counts, fits func(Counts) bool) bool {
	for i := range c {
		if c[i] == rest[i] {
			continue
		}
		more := slices.Clone(c)
		if more[i]++; fits(more) {
			return true
		}
	}
	return false
}
