package packing

import (
	"fmt"
	"slices"
	"strings"
)

// restriction keeps pods on certain nodes: those in one of the units.
type restriction struct {
	slot, level int
	units       []unit
}

func (r *restriction) admits(p *problem, node int32) bool {
	return slices.Contains(r.units, p.unitOf(r.slot, r.level, node))
}

// item is what an exact search moves about as one: a pod of a class, or a box,
// which is a group that needs a domain of its required level to itself or to
// share.
type item struct {
	// level is what a box needs; none for a pod.
	level int
	// shape of a pod, and the nodes it may use, by position in the snapshot.
	shape   int
	allowed []bool
	// content of a box: how many of each item.
	content load
	// pods is how many pods of each class are in it, boxes opened.
	pods []int
	// volume is the share of the usable resources that it takes, in parts of 10^12.
	volume int64
}

// rank sorts pods below boxes.
func (it *item) rank() int { return min(it.level, 0) }

// load counts items by index. Classes of pods come first, then boxes, each after
// what is in it; a load without boxes may end where the classes do.
type load []int

// cargo is a selection as items: equal pods and equal boxes counted together.
type cargo struct {
	p     *problem
	snap  *snapshot
	sel   *selection
	slot  int
	items []item
	// classes is how many of the items are pods.
	classes int
	index   map[string]int
	total   load
	// owners lists, for each item in an instance of a box, whose pods or which
	// groups they are.
	owners map[owner][]share
	// large says that there are more items, or nodes for them, than a search could
	// look at; the items are not complete then.
	large bool
	// restricted are the restrictions of each group beyond its fixed domains.
	restricted map[int][]*restriction
}

// owner is an item in one instance of a box; box is none for the root.
type owner struct{ box, item int }

// share is a number of pods of a leaf, or a group that is an instance of a box.
type share struct{ group, count int }

const (
	// maxItems bounds the items of an exact search, and maxTable how many numbers a
	// table of them by node has.
	maxItems = 800
	maxTable = 1 << 20
)

// newCargo turns a selection into items, with the given restrictions by group.
func newCargo(snap *snapshot, sel *selection, slot int, restricted map[int][]*restriction) *cargo {
	c := &cargo{p: snap.p, snap: snap, sel: sel, slot: slot, index: map[string]int{}, owners: map[owner][]share{}, restricted: restricted}
	if c.total = c.pack(0, none, none, nil); c.large {
		return c
	}
	c.podsFirst()
	c.countPods()
	return c
}

// podsFirst numbers the items anew, pods before boxes, and gives loads their
// full length.
func (c *cargo) podsFirst() {
	number := make([]int, len(c.items))
	var pods, boxes []item
	for i, it := range c.items {
		if it.level == none {
			number[i] = len(pods)
			pods = append(pods, it)
		} else {
			number[i] = len(boxes)
			boxes = append(boxes, it)
		}
	}
	for i, it := range c.items {
		if it.level != none {
			number[i] += len(pods)
		}
	}
	renumber := func(l load) load {
		full := make(load, len(c.items))
		for i, n := range l {
			full[number[i]] = n
		}
		return full
	}
	c.items, c.classes = append(pods, boxes...), len(pods)
	c.total = renumber(c.total)
	for i := range c.items {
		c.items[i].content = renumber(c.items[i].content)
	}
	owners := make(map[owner][]share, len(c.owners))
	for key, shares := range c.owners {
		owners[owner{key.box, number[key.item]}] = shares
	}
	c.owners = owners
}

// pack gives a group as a load: itself as one box, or its content where it needs
// no box. enclosing is the level of the innermost box around, box its group.
func (c *cargo) pack(i, box, enclosing int, outer []*restriction) load {
	if c.p.total(c.sel.want, i) == 0 {
		return nil
	}
	if c.large {
		return nil
	}
	grp := &c.p.groups[i]
	inner := c.restrict(i, outer)
	if !c.boxed(grp, enclosing) {
		return c.contents(i, box, enclosing, inner)
	}
	content := c.contents(i, i, grp.required, inner)
	at := c.intern(fmt.Sprint("box ", grp.required, trimmed(content)), item{level: grp.required, content: content})
	c.own(box, at, share{i, 1})
	return plus(nil, at, 1)
}

// boxed reports whether a group needs a box: it requires a level of the main
// topology that the enclosing box doesn't imply, and isn't fixed already.
func (c *cargo) boxed(g *group, enclosing int) bool {
	return g.slot == c.slot && g.required > enclosing && !g.pinned
}

func (c *cargo) restrict(i int, outer []*restriction) []*restriction {
	inner := slices.Clone(outer)
	for _, fixed := range c.p.groups[i].fixed {
		level := c.p.cluster.topologies[fixed.slot].domains[fixed.at].level
		inner = append(inner, &restriction{fixed.slot, level, []unit{{at: fixed.at, node: none}}})
	}
	return append(inner, c.restricted[i]...)
}

func (c *cargo) contents(i, box, enclosing int, inner []*restriction) load {
	var l load
	if !c.p.groups[i].leaf() {
		for _, child := range c.sel.children(i) {
			for at, n := range c.pack(child, box, enclosing, inner) {
				l = plus(l, at, n)
			}
		}
		return l
	}
	kinds := c.p.kindsOf(i)
	for k, n := range c.p.wants(c.sel.want, i) {
		if n > 0 {
			at := c.podClass(int(kinds[k]), inner)
			l = plus(l, at, int(n))
			c.own(box, at, share{i, int(n)})
		}
	}
	return l
}

func (c *cargo) own(box, item int, s share) {
	key := owner{box, item}
	c.owners[key] = append(c.owners[key], s)
}

func (c *cargo) podClass(shape int, inner []*restriction) int {
	var b strings.Builder
	fmt.Fprint(&b, "pod ", shape)
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
	allowed := make([]bool, len(c.snap.nodes))
	for n, node := range c.snap.nodes {
		allowed[n] = c.p.shapes[shape].on(node) > 0 && admitted(c.p, inner, node)
	}
	return c.intern(b.String(), item{level: none, shape: shape, allowed: allowed})
}

func admitted(p *problem, rules []*restriction, node int32) bool {
	for _, r := range rules {
		if !r.admits(p, node) {
			return false
		}
	}
	return true
}

func (c *cargo) intern(key string, it item) int {
	if at, ok := c.index[key]; ok {
		return at
	}
	if len(c.items) > 0 && (len(c.items) >= maxItems || (len(c.items)+1)*len(c.snap.nodes) > maxTable) {
		c.large = true
		return 0
	}
	c.items = append(c.items, it)
	c.index[key] = len(c.items) - 1
	return len(c.items) - 1
}

// countPods fills in what each item has in it. A box comes after its content.
func (c *cargo) countPods() {
	for i := range c.items {
		it := &c.items[i]
		it.pods = make([]int, c.classes)
		if it.level == none {
			it.pods[i] = 1
			continue
		}
		for at, n := range it.content {
			for class, pods := range c.items[at].pods {
				it.pods[class] += n * pods
			}
		}
	}
}

func plus(l load, at, n int) load {
	if missing := at + 1 - len(l); missing > 0 {
		l = append(l, make(load, missing)...)
	}
	l[at] += n
	return l
}

func trimmed(l load) load {
	for len(l) > 0 && l[len(l)-1] == 0 {
		l = l[:len(l)-1]
	}
	return l
}
