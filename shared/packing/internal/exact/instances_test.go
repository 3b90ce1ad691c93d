package exact

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// Levels of the trees below: blocks have racks. rack is the level of racks in trees without blocks.
const (
	block    = 0
	deepRack = 1
)

// nodes are what each node of a rack has free.
type nodes [][]int64

// pod is a class of pods that may use each node.
func pod(requests ...int64) Item { return Item{Level: None, Requests: requests} }

// group is a group that needs one domain of a level.
func group(level int, content ...int) Item { return Item{Level: level, Content: content} }

// inRacks makes an instance of racks. Content and total may end early.
func inRacks(items []Item, total []int, racks ...nodes) *Instance {
	in := &Instance{Domains: []Domain{{Level: None}}}
	for r, free := range racks {
		d := Domain{Level: rack}
		for range free {
			d.Nodes = append(d.Nodes, len(in.Free)+len(d.Nodes))
		}
		in.Free, d.All = append(in.Free, free...), d.Nodes
		in.Domains = append(in.Domains, d)
		in.Domains[0].Children, in.Domains[0].All = append(in.Domains[0].Children, r+1), append(in.Domains[0].All, d.All...)
	}
	return in.with(items, total)
}

// onNodes makes an instance of nodes that stand in no rack.
func onNodes(items []Item, total []int, free nodes) *Instance {
	in := &Instance{Free: free, Domains: []Domain{{Level: None}}}
	for n := range free {
		in.Domains[0].Nodes = append(in.Domains[0].Nodes, n)
	}
	in.Domains[0].All = in.Domains[0].Nodes
	return in.with(items, total)
}

func (in *Instance) with(items []Item, total []int) *Instance {
	for _, it := range items {
		if it.Level == None {
			in.Classes++
			if it.Allowed == nil {
				it.Allowed = slices.Repeat([]bool{true}, len(in.Free))
			}
		} else {
			it.Content = padded(it.Content, len(items))
		}
		in.Items = append(in.Items, it)
	}
	in.Total = padded(total, len(items))
	return in
}

// padded gives counts their full length.
func padded(c Counts, length int) Counts {
	return append(slices.Clone(c), make(Counts, length-len(c))...)
}

// drawDeep makes a tree of blocks and racks in which nodes stand at each level, and groups in groups, some of them
// alike: up to eight pods that barely fit, or barely not.
func drawDeep(t *rapid.T) *Instance {
	in := &Instance{Domains: []Domain{{Level: None}}}
	in.drawNodes(t, 0, 1)
	for range rapid.IntRange(1, 2).Draw(t, "blocks") {
		at := in.addDomain(0, block)
		in.drawNodes(t, at, 1)
		for range rapid.IntRange(0, 2).Draw(t, "racks") {
			in.drawNodes(t, in.addDomain(at, deepRack), 2)
		}
	}
	if rapid.Bool().Draw(t, "a rack outside of blocks") {
		in.drawNodes(t, in.addDomain(0, deepRack), 2)
	}
	in.all(0)
	var items []Item
	for range rapid.IntRange(1, 3).Draw(t, "classes") {
		it := pod(rapid.Int64Range(1, 3).Draw(t, "gpu"), rapid.Int64Range(0, 2).Draw(t, "cpu"))
		for range in.Free {
			it.Allowed = append(it.Allowed, rapid.IntRange(0, 5).Draw(t, "allowed") > 0)
		}
		items = append(items, it)
	}
	pods := 8
	sizes := slices.Repeat([]int{1}, len(items))
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		it, size := group(rapid.IntRange(block, deepRack).Draw(t, "level")), 0
		for _, each := range sizes {
			n := rapid.IntRange(0, min(2, (4-size)/each)).Draw(t, "content")
			it.Content, size = append(it.Content, n), size+n*each
		}
		if size > 0 {
			items, sizes = append(items, it), append(sizes, size)
		}
	}
	total := make([]int, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		total[i] = rapid.IntRange(0, min(3, pods/sizes[i])).Draw(t, "total")
		pods -= total[i] * sizes[i]
	}
	return in.with(items, total)
}

func (in *Instance) addDomain(parent, level int) int {
	at := len(in.Domains)
	in.Domains = append(in.Domains, Domain{Level: level})
	in.Domains[parent].Children = append(in.Domains[parent].Children, at)
	return at
}

// drawNodes adds up to most nodes to a domain.
func (in *Instance) drawNodes(t *rapid.T, domain, most int) {
	for range rapid.IntRange(0, most).Draw(t, "nodes") {
		in.Domains[domain].Nodes = append(in.Domains[domain].Nodes, len(in.Free))
		in.Free = append(in.Free, []int64{rapid.Int64Range(2, 5).Draw(t, "gpu"), rapid.Int64Range(1, 4).Draw(t, "cpu")})
	}
}

// all lists the nodes of a domain and of those within.
func (in *Instance) all(domain int) []int {
	d := &in.Domains[domain]
	all := slices.Clone(d.Nodes)
	for _, child := range d.Children {
		all = append(all, in.all(child)...)
	}
	in.Domains[domain].All = all
	return all
}

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

// The two oracles agree where both can be asked, so that neither of them is wrong alone.
func TestBothOraclesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		if a, b := possible(in, 0, in.Total), (&tight{Instance: in}).fits(); a != b {
			t.Fatalf("one oracle says %v, the other %v", a, b)
		}
	})
}

// Groups in groups, nodes at each level and groups that are alike: both searches find what there is.
func TestTreesOfGroupsArePackedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		want := possible(in, 0, in.Total)
		for _, thorough := range []bool{true, false} {
			s := newSolver(in, unlimited())
			s.thorough = thorough
			root := s.solve()
			if (root != nil) != want {
				t.Fatalf("thorough %v: found %v, feasible %v", thorough, root != nil, want)
			}
			if root != nil {
				checkPacking(t, in, root)
			}
		}
	})
}

// One domain of the tree may be asked about alone, by any number of items.
func TestEachDomainIsPackedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		c := drawSome(t, in.Total)
		s := newSolver(in, unlimited())
		s.thorough, s.effort = rapid.Bool().Draw(t, "thorough"), 1<<20
		p := s.fit(domain, c)
		if want := possible(in, domain, c); (p != nil) != want {
			t.Fatalf("%v in domain %d: found %v, feasible %v", c, domain, p != nil, want)
		}
		if p != nil {
			if p.Domain != domain {
				t.Fatalf("asked about domain %d, packed domain %d", domain, p.Domain)
			}
			here := *in
			here.Total = c
			checkPacking(t, &here, p)
		}
	})
}

// drawSome draws some of the items there are.
func drawSome(t *rapid.T, most Counts) Counts {
	c := make(Counts, len(most))
	for i, n := range most {
		c[i] = rapid.IntRange(0, n).Draw(t, "some")
	}
	return c
}

// text writes a packing as the counts of its parts, domain by domain.
func (p *Packing) text() string {
	var parts []string
	for _, part := range p.Parts {
		if part.Inner != nil {
			parts = append(parts, fmt.Sprint(part.Counts, part.Inner.text()))
			continue
		}
		parts = append(parts, fmt.Sprint(part.Node, part.Counts))
	}
	return fmt.Sprintf("%d(%s)", p.Domain, strings.Join(parts, " "))
}

// A search repeats itself to the step: verdicts at the end of a budget would differ otherwise.
func TestASearchIsRepeatedToTheStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		limit := rapid.IntRange(1, 400).Draw(t, "limit")
		first, second := &problem.Budget{Limit: limit}, &problem.Budget{Limit: limit}
		a, b := Solve(in, first), Solve(in, second)
		if *first != *second || (a == nil) != (b == nil) {
			t.Fatalf("%d and %d steps, found %v and %v", first.Steps, second.Steps, a != nil, b != nil)
		}
		if a != nil && a.text() != b.text() {
			t.Fatalf("%s and %s", a.text(), b.text())
		}
	})
}

// A question is not changed by being answered.
func TestAnInstanceIsOnlyRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		before := fmt.Sprintf("%+v", in)
		Solve(in, &problem.Budget{Limit: 1 << 14})
		if after := fmt.Sprintf("%+v", in); after != before {
			t.Fatalf("%s\nbecame\n%s", before, after)
		}
	})
}

// What the caller's limit was, it is afterwards: efforts within are not left behind.
func TestTheLimitOfABudgetIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		budget := &problem.Budget{Limit: limit}
		root := Solve(in, budget)
		if budget.Limit != limit {
			t.Fatalf("the limit was %d and is %d", limit, budget.Limit)
		}
		if root == nil && !budget.Exhausted() && possible(in, 0, in.Total) {
			t.Fatalf("refuted after %d steps of %d, and it fits", budget.Steps, limit)
		}
	})
}
