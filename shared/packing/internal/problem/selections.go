package problem

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// maxSelections bounds how many selections of a gang are tried one by one.
const maxSelections = 2000

// manySelections is where listing all selections is not even begun.
const manySelections = 200_000

// Largest selects every pod that could be placed if there were room: those of
// groups that can reach their minimum and are not blocked.
func (p *Problem) Largest() *Selection {
	want := slices.Clone(p.Pending)
	for i := 0; i < len(p.Groups); {
		if p.Groups[i].Blocked == "" && p.Satisfiable(i) {
			i++
			continue
		}
		for k := i; k < p.Groups[i].End; k++ {
			clear(p.Wants(want, k))
		}
		i = p.Groups[i].End
	}
	return p.NewSelection(want)
}

// Rigid reports whether only all pending pods together satisfy the gang.
func (p *Problem) Rigid() bool {
	for i := range p.Groups {
		g := &p.Groups[i]
		if g.Leaf() && p.Total(p.Pending, i) != g.Need || !g.Leaf() && g.MinChildren != len(g.Source.Children) {
			return false
		}
	}
	return true
}

// chooser enumerates the wants of a group's leaves that satisfy the group.
type chooser struct {
	p *Problem
	// minimal leaves out what could do with less.
	minimal bool
	// overflow says that there were more than maxSelections, or that listing them
	// took more room than room has left.
	overflow bool
	room     int
}

// selectionRoom bounds the numbers written down for a list of selections.
const selectionRoom = 2 << 20

// Selections lists the selections that satisfy the gang: the least of them only,
// by growing size, or all, by shrinking size. False when there are too many to
// list; the list has some then.
func (p *Problem) Selections(minimal bool) ([]*Selection, bool) {
	c := &chooser{p: p, minimal: minimal, room: selectionRoom}
	if !minimal && c.roughly(0) > manySelections {
		return nil, false
	}
	var result []*Selection
	for _, want := range c.satisfying(0, false) {
		if c.room -= len(want); c.room < -selectionRoom {
			break
		}
		result = append(result, p.NewSelection(want))
	}
	slices.SortStableFunc(result, func(a, b *Selection) int {
		d := cmp.Compare(p.Total(a.Want, 0), p.Total(b.Want, 0))
		if !minimal {
			d = -d
		}
		return d
	})
	return result, !c.overflow
}

// roughly bounds the number of selections of a group from above.
func (c *chooser) roughly(i int) int64 {
	many := int64(1)
	if c.p.Groups[i].Leaf() {
		for _, n := range c.p.Wants(c.p.Pending, i) {
			many = counts.TimesSaturating(many, int64(n)+1)
		}
		return many
	}
	for child := range c.p.Children(i) {
		options := c.roughly(child)
		if c.p.Total(c.p.Pending, child) > 0 {
			// The child may also be left out.
			options = counts.PlusSaturating(options, 1)
		}
		many = counts.TimesSaturating(many, options)
	}
	return many
}

// satisfying gives tables of wants, zero outside the group.
func (c *chooser) satisfying(i int, blocked bool) [][]int32 {
	g := &c.p.Groups[i]
	blocked = blocked || g.Blocked != ""
	if g.Leaf() {
		return c.leaf(i, blocked)
	}
	children := slices.Collect(c.p.Children(i))
	options := make([][][]int32, len(children))
	for k, child := range children {
		if options[k] = c.satisfying(child, blocked); c.overflow {
			return nil
		}
	}
	return c.combine(i, children, options)
}

func (c *chooser) leaf(i int, blocked bool) [][]int32 {
	g := &c.p.Groups[i]
	if blocked {
		if g.Need > 0 {
			return nil
		}
		return [][]int32{c.nothing()}
	}
	var result [][]int32
	want := c.nothing()
	c.room -= len(want)
	pending := c.p.Wants(c.p.Pending, i)
	row := c.p.Wants(want, i)
	// Small pods first: if any pods do for a minimum, they are the ones to try.
	var choose func(k, sum int)
	choose = func(k, sum int) {
		if c.full(len(result)) {
			return
		}
		if k < 0 {
			if sum == g.Need || sum > g.Need && !c.minimal {
				c.room -= len(want)
				result = append(result, slices.Clone(want))
			}
			return
		}
		most := pending[k]
		if c.minimal {
			most = min(most, int32(max(0, min(g.Need, counts.MaxFit)-sum)))
		}
		for n := most; n >= 0 && !c.overflow; n-- {
			c.room--
			row[k] = n
			choose(k-1, sum+int(n))
		}
		row[k] = 0
	}
	choose(len(row)-1, 0)
	return result
}

// full reports whether a list of so many ends here.
func (c *chooser) full(listed int) bool {
	c.overflow = c.overflow || listed == maxSelections || c.room < 0
	return c.overflow
}

func (c *chooser) nothing() []int32 { return make([]int32, len(c.p.Pending)) }

// combine joins the options of children such that enough of them are satisfied.
// A child may also be left unsatisfied, without pods.
func (c *chooser) combine(parent int, children []int, options [][][]int32) [][]int32 {
	need := c.p.Groups[parent].MinChildren
	if c.minimal {
		children, options, need = c.free(children, options, need)
	}
	empty := make([]bool, len(children))
	for k, child := range children {
		empty[k] = c.emptyOption(child, options[k])
	}
	var result [][]int32
	var choose func(k, satisfied int, want []int32, skipped int)
	choose = func(k, satisfied int, want []int32, skipped int) {
		enough := satisfied >= need
		if satisfied+len(children)-k < need {
			return
		}
		if c.full(len(result)) {
			return
		}
		if k == len(children) || enough && c.minimal {
			result = append(result, want)
			return
		}
		class := c.p.Groups[children[k]].Class
		// Of children alike only the first few are chosen, not other ones.
		if !c.minimal || class != skipped {
			for _, option := range options[k] {
				c.room -= len(want)
				choose(k+1, satisfied+1, added(want, option), counts.None)
			}
		}
		if !empty[k] {
			choose(k+1, satisfied, want, class)
		}
	}
	choose(0, 0, c.nothing(), counts.None)
	return result
}

// free takes out the children that are satisfied without any pod, and sorts the
// others by size, so that small ones are chosen first.
func (c *chooser) free(children []int, options [][][]int32, need int) ([]int, [][][]int32, int) {
	var order []int
	pods := make([]int, len(children))
	for k, child := range children {
		if c.emptyOption(child, options[k]) {
			need--
		} else if len(options[k]) > 0 {
			order, pods[k] = append(order, k), c.pods(options[k][0], child)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(pods[a], pods[b]),
			cmp.Compare(c.p.Groups[children[a]].Class, c.p.Groups[children[b]].Class))
	})
	kids := make([]int, len(order))
	kept := make([][][]int32, len(order))
	for n, k := range order {
		kids[n], kept[n] = children[k], options[k]
	}
	return kids, kept, need
}

// emptyOption reports whether one of a child's options is to have no pods of it.
func (c *chooser) emptyOption(child int, options [][]int32) bool {
	return slices.ContainsFunc(options, func(want []int32) bool { return c.pods(want, child) == 0 })
}

// pods is how many pods an option of a group has.
func (c *chooser) pods(option []int32, group int) int {
	sum := 0
	for _, n := range option[c.p.Rows[group]:c.p.Rows[c.p.Groups[group].End]] {
		sum += int(n)
	}
	return sum
}

func added(a, b []int32) []int32 {
	sum := slices.Clone(a)
	for i, n := range b {
		sum[i] += n
	}
	return sum
}
