package exact

import (
	"fmt"
	"slices"
	"strings"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// restriction keeps pods on certain nodes: those in one of the units.
type restriction struct {
	slot, level int
	units       []problem.Unit
}

func (r *restriction) admits(p *problem.Problem, node int32) bool {
	return slices.Contains(r.units, p.UnitOf(r.slot, r.level, node))
}

// encoding is a selection as an instance of the exact search: pods and groups that
// are alike are one item.
type encoding struct {
	Instance
	p    *problem.Problem
	snap *Snapshot
	sel  *problem.Selection
	slot int
	// kinds are the kinds of pods of each item.
	kinds []int
	index map[string]int
	// owners lists, for each item in a group, the leaves of its pods or its groups.
	owners map[owner][]share
	// large says that there are more items, or nodes for them, than a search could
	// look at; the items are not complete then.
	large bool
	// restricted are the restrictions of each group beyond its fixed domains.
	restricted map[int][]*restriction
	// wrappers counts the items around others that only relations need. crowded says
	// that some domain has more items than a relation allows, whatever is done.
	wrappers int
	crowded  bool
}

// owner is an item in one group of the gang that is an item too, or none for the root.
type owner struct{ group, item int }

// share is a number of pods of a leaf, or one group.
type share struct{ group, count int }

const (
	// maxItems bounds the items of an exact search, and maxTable how many numbers a
	// table of them by node has.
	maxItems = 800
	maxTable = 1 << 20
)

// newEncoding turns a selection into items, with the given restrictions by group, and
// so many items of relations taken by domain.
func newEncoding(
	snap *Snapshot, sel *problem.Selection, slot int, restricted map[int][]*restriction, taken map[problem.ItemIn]int,
) *encoding {
	c := &encoding{p: snap.p, snap: snap, sel: sel, slot: slot, index: map[string]int{}, owners: map[owner][]share{},
		restricted: restricted}
	c.Free, c.Domains = snap.free, snap.domains
	kinds := 0 // Each is an item at least.
	for _, n := range c.p.Wants(sel.Want, 0) {
		kinds += int(min(n, 1))
	}
	if c.large = c.exceeds(kinds); c.large {
		return c
	}
	c.seatItems(taken)
	if c.Total = c.counts(0, counts.None, counts.None, nil); !c.large {
		c.podsFirst()
	}
	return c
}

// podsFirst numbers the items anew, pods before groups, and gives counts their
// full length.
func (c *encoding) podsFirst() {
	number := make([]int, len(c.Items))
	var pods, groups []Item
	var kinds []int
	for i, it := range c.Items {
		if it.Level == None {
			number[i] = len(pods)
			pods, kinds = append(pods, it), append(kinds, c.kinds[i])
		} else {
			number[i] = len(groups)
			groups = append(groups, it)
		}
	}
	for i, it := range c.Items {
		if it.Level != None {
			number[i] += len(pods)
		}
	}
	renumber := func(content Counts) Counts {
		full := make(Counts, len(c.Items))
		for i, n := range content {
			full[number[i]] = n
		}
		return full
	}
	c.Items, c.Classes, c.kinds = append(pods, groups...), len(pods), kinds
	c.Total = renumber(c.Total)
	for i := range c.Items {
		if c.Items[i].Level != None {
			c.Items[i].Content = renumber(c.Items[i].Content)
		}
	}
	owners := make(map[owner][]share, len(c.owners))
	for key, shares := range c.owners {
		owners[owner{key.group, number[key.item]}] = shares
	}
	c.owners = owners
}

// counts gives a group as items: itself as one, or what is in it where it needs no
// domain to itself. within is the level of the innermost item around, in its group.
func (c *encoding) counts(i, in, within int, outer []*restriction) Counts {
	if c.large || c.p.Total(c.sel.Want, i) == 0 {
		return nil
	}
	grp := &c.p.Groups[i]
	inner := c.restrict(i, outer)
	tokens, level := c.markers(i, false), counts.None
	if grp.Slot == c.slot && grp.Required > within && !grp.Pinned {
		level = grp.Required
	}
	if level = c.narrowest(level, within, tokens); level == counts.None {
		return c.withMarkers(c.contents(i, in, within, inner), tokens)
	}
	return c.form(i, in, level, within, 1, c.withMarkers(c.contents(i, i, level, inner), tokens))
}

func (c *encoding) restrict(i int, outer []*restriction) []*restriction {
	inner := slices.Clone(outer)
	for _, fixed := range c.p.Groups[i].Fixed {
		level := c.p.Cluster.Topologies[fixed.Slot].Domains[fixed.At].Level
		inner = append(inner, &restriction{fixed.Slot, level, []problem.Unit{{At: fixed.At, Node: counts.None}}})
	}
	return append(inner, c.restricted[i]...)
}

func (c *encoding) contents(i, in, within int, inner []*restriction) Counts {
	var content Counts
	if !c.p.Groups[i].Leaf() {
		for _, child := range c.sel.Children(i) {
			for at, n := range c.counts(child, in, within, inner) {
				content = adding(content, at, n)
			}
		}
		return content
	}
	tokens := c.markers(i, true)
	level := c.narrowest(counts.None, within, tokens)
	for _, a := range c.p.Asked(c.sel.Want, i) {
		at := c.pods(a.Kind, inner)
		if level == counts.None {
			content = adding(content, at, int(a.Pods))
			c.own(in, at, share{i, int(a.Pods)})
			for _, r := range tokens {
				content = adding(content, c.marker(r), int(a.Pods))
			}
			continue
		}
		c.wrappers++
		pod := len(c.p.Groups) + c.wrappers
		c.own(pod, at, share{i, 1})
		for at, n := range c.form(pod, in, level, within, int(a.Pods), c.withMarkers(adding(nil, at, 1), tokens)) {
			content = adding(content, at, n)
		}
	}
	return content
}

func (c *encoding) own(group, item int, s share) {
	key := owner{group, item}
	c.owners[key] = append(c.owners[key], s)
}

// pods is the item of the pods of a kind under some restrictions.
func (c *encoding) pods(kind int, inner []*restriction) int {
	var b strings.Builder
	fmt.Fprint(&b, "pods ", kind)
	var rules []string
	for _, r := range inner {
		rules = append(rules, fmt.Sprint(r.slot, r.level, r.units))
	}
	slices.Sort(rules)
	for _, rule := range slices.Compact(rules) {
		b.WriteString(rule)
	}
	if at, ok := c.index[b.String()]; ok {
		return at
	}
	if c.large {
		return 0
	}
	allowed := make([]bool, len(c.snap.Nodes))
	for n, node := range c.snap.Nodes {
		allowed[n] = node != counts.None && c.p.Shapes[kind].On(node) > 0 && admitted(c.p, inner, node)
	}
	return c.intern(b.String(), Item{Level: None, Requests: c.snap.requests[kind], Allowed: allowed}, kind)
}

func admitted(p *problem.Problem, rules []*restriction, node int32) bool {
	for _, r := range rules {
		if !r.admits(p, node) {
			return false
		}
	}
	return true
}

func (c *encoding) intern(key string, it Item, kind int) int {
	if at, ok := c.index[key]; ok {
		return at
	}
	if c.exceeds(len(c.Items) + 1) {
		c.large = true
		return 0
	}
	c.Items, c.kinds = append(c.Items, it), append(c.kinds, kind)
	c.index[key] = len(c.Items) - 1
	return len(c.Items) - 1
}

// beyond reports whether so many items are more than a search could look at.
func (c *encoding) exceeds(n int) bool {
	return n > 1 && (n > maxItems || n*len(c.snap.Nodes) > maxTable)
}

func adding(content Counts, at, n int) Counts {
	if missing := at + 1 - len(content); missing > 0 {
		content = append(content, make(Counts, missing)...)
	}
	content[at] += n
	return content
}

func trimmed(content Counts) Counts {
	for len(content) > 0 && content[len(content)-1] == 0 {
		content = content[:len(content)-1]
	}
	return content
}

// placements turns a packing into placements: it hands the items out to the groups
// that own them.
func (c *encoding) placements(root *Packing) []problem.Placement {
	supply := map[int][]share{}
	c.supply(supply, share{counts.None, 1})
	var out []problem.Placement
	c.handOut(root, supply, &out)
	return out
}

// supply adds what is in a group, or in some that are alike.
func (c *encoding) supply(to map[int][]share, of share) {
	for item := range c.Items {
		for _, s := range c.owners[owner{of.group, item}] {
			to[item] = append(to[item], share{s.group, s.count * of.count})
		}
	}
}

func (c *encoding) handOut(p *Packing, supply map[int][]share, out *[]problem.Placement) {
	level := c.Domains[p.Domain].Level
	for i := len(c.Items) - 1; i >= 0; i-- {
		if it := &c.Items[i]; it.Level != None && it.Level <= level {
			for _, opened := range supply[i] {
				c.supply(supply, opened)
			}
			delete(supply, i)
		}
	}
	for _, part := range p.Parts {
		inner := map[int][]share{}
		for item, n := range part.Counts {
			if n > 0 {
				inner[item], supply[item] = take(supply[item], n)
			}
		}
		if part.Inner != nil {
			c.handOut(part.Inner, inner, out)
			continue
		}
		for item := range c.Classes {
			for _, s := range inner[item] {
				*out = append(*out, problem.Placement{Leaf: int32(s.group), Shape: int32(c.kinds[item]), Pods: int32(s.count),
					Node: c.snap.Nodes[part.Node]})
			}
		}
	}
}

// take splits the first n off a list of shares, and shortens the rest in place.
func take(shares []share, n int) (taken, rest []share) {
	for i := range shares {
		s := &shares[i]
		if n < s.count {
			if n > 0 {
				taken = append(taken, share{s.group, n})
			}
			s.count -= n
			return taken, shares[i:]
		}
		taken = append(taken, *s)
		n -= s.count
	}
	return taken, nil
}
