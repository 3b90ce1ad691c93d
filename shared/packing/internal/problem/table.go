package problem

import (
	"cmp"
	"fmt"
	"slices"
)

// maxEntries bounds the numbers in one table, and so the kinds of pods of each
// group, summed up over all groups.
const maxEntries = 1 << 22

// layout says where a table has the number of pods of a group and kind. Each
// group has a row, for the kinds of pods that it or a descendant has: a gang of
// thousands of groups and kinds has few numbers for each.
type layout struct {
	// Rows is where each group's row begins, and where the last one ends.
	Rows []int32
	// Kinds is the kind of each number, ascending in a row; Above is the position of
	// the same kind in the row of the parent.
	Kinds, Above []int32
}

// lay makes the layout for the kinds that each leaf has, which it sorts.
// O(groups + kinds of each group, summed up, with a logarithm).
func (p *Problem) lay(of [][]int32) error {
	entries := 0
	for i := len(p.Groups) - 1; i >= 0; i-- {
		slices.Sort(of[i])
		of[i] = slices.Compact(of[i])
		if entries += len(of[i]); entries > maxEntries {
			return fmt.Errorf("the gang has too many groups of too many kinds of pods each: more than %d numbers", maxEntries)
		}
		if i > 0 {
			of[p.Groups[i].Parent] = append(of[p.Groups[i].Parent], of[i]...)
		}
	}
	p.Rows = make([]int32, len(p.Groups)+1)
	p.Kinds, p.Above = make([]int32, 0, entries), make([]int32, entries)
	for i, kinds := range of {
		p.Kinds = append(p.Kinds, kinds...)
		p.Rows[i+1] = int32(len(p.Kinds))
		if i == 0 {
			continue
		}
		above := p.KindsOf(p.Groups[i].Parent)
		for k, at := 0, 0; k < len(kinds); k++ {
			next, _ := slices.BinarySearch(above[at:], kinds[k])
			at += next
			p.Above[int(p.Rows[i])+k] = p.Rows[p.Groups[i].Parent] + int32(at)
		}
	}
	return nil
}

// Wants gives one group's row of a table.
func (p *Problem) Wants(table []int32, group int) []int32 {
	return table[p.Rows[group]:p.Rows[group+1]]
}

// KindsOf gives the kinds of a group's row.
func (p *Problem) KindsOf(group int) []int32 { return p.Kinds[p.Rows[group]:p.Rows[group+1]] }

// Wanted is the number of a group and kind in a table; the group must have the kind.
func (p *Problem) Wanted(table []int32, group, kind int) *int32 {
	row := p.KindsOf(group)
	if len(row) == 1 {
		return &table[p.Rows[group]]
	}
	at, _ := slices.BinarySearch(row, int32(kind))
	return &table[int(p.Rows[group])+at]
}

// SumUp makes each parent's row of a table the sum of its children's.
func (p *Problem) SumUp(table []int32) {
	for i := range p.Groups {
		if !p.Groups[i].Leaf() {
			clear(p.Wants(table, i))
		}
	}
	for i := len(p.Groups) - 1; i > 0; i-- {
		p.AddUp(table, i, 1)
	}
}

// AddUp adds a group's row to its parent's, or with sign -1 takes it off.
func (p *Problem) AddUp(table []int32, group int, sign int32) {
	for at := p.Rows[group]; at < p.Rows[group+1]; at++ {
		table[p.Above[at]] += sign * table[at]
	}
}

// Total is how many pods a group wants.
func (p *Problem) Total(want []int32, group int) int {
	sum := 0
	for _, n := range p.Wants(want, group) {
		sum += int(n)
	}
	return sum
}

// AskedPods are pods of one kind.
type AskedPods struct {
	Kind int
	Pods int32
}

// Asked lists the pods that a group wants.
func (p *Problem) Asked(table []int32, group int) []AskedPods {
	var list []AskedPods
	kinds := p.KindsOf(group)
	for k, n := range p.Wants(table, group) {
		if n > 0 {
			list = append(list, AskedPods{int(kinds[k]), n})
		}
	}
	return list
}

// LeafPods are the pods of one kind of a leaf.
type LeafPods struct{ Leaf, Kind int }

// SmallFirst lists the pods of all leaves by room, most first.
func (p *Problem) SmallFirst() []LeafPods {
	var list []LeafPods
	for i := range p.Groups {
		if p.Groups[i].Leaf() {
			for _, kind := range p.KindsOf(i) {
				list = append(list, LeafPods{i, int(kind)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b LeafPods) int { return cmp.Compare(b.Kind, a.Kind) })
	return list
}
