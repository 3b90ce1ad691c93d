package packing

import (
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
	// rows is where each group's row begins, and where the last one ends.
	rows []int32
	// kinds is the kind of each number, ascending in a row; above is the position of
	// the same kind in the row of the parent.
	kinds, above []int32
}

// lay makes the layout for the kinds that each leaf has, which it sorts.
// O(groups + kinds of each group, summed up, with a logarithm).
func (p *problem) lay(of [][]int32) error {
	entries := 0
	for i := len(p.groups) - 1; i >= 0; i-- {
		slices.Sort(of[i])
		of[i] = slices.Compact(of[i])
		if entries += len(of[i]); entries > maxEntries {
			return fmt.Errorf("the gang has too many groups of too many kinds of pods each: more than %d numbers", maxEntries)
		}
		if i > 0 {
			of[p.groups[i].parent] = append(of[p.groups[i].parent], of[i]...)
		}
	}
	p.rows = make([]int32, len(p.groups)+1)
	p.kinds, p.above = make([]int32, 0, entries), make([]int32, entries)
	for i, kinds := range of {
		p.kinds = append(p.kinds, kinds...)
		p.rows[i+1] = int32(len(p.kinds))
		if i == 0 {
			continue
		}
		above := p.kindsOf(p.groups[i].parent)
		for k, at := 0, 0; k < len(kinds); k++ {
			next, _ := slices.BinarySearch(above[at:], kinds[k])
			at += next
			p.above[int(p.rows[i])+k] = p.rows[p.groups[i].parent] + int32(at)
		}
	}
	return nil
}

// wants gives one group's row of a table, and kindsOf the kinds there.
func (p *problem) wants(table []int32, group int) []int32 {
	return table[p.rows[group]:p.rows[group+1]]
}

func (p *problem) kindsOf(group int) []int32 { return p.kinds[p.rows[group]:p.rows[group+1]] }

// wanted is the number of a group and kind in a table; the group must have the kind.
func (p *problem) wanted(table []int32, group, kind int) *int32 {
	row := p.kindsOf(group)
	if len(row) == 1 {
		return &table[p.rows[group]]
	}
	at, _ := slices.BinarySearch(row, int32(kind))
	return &table[int(p.rows[group])+at]
}

// sumUp makes each parent's row of a table the sum of its children's.
func (p *problem) sumUp(table []int32) {
	for i := range p.groups {
		if !p.groups[i].leaf() {
			clear(p.wants(table, i))
		}
	}
	for i := len(p.groups) - 1; i > 0; i-- {
		p.addUp(table, i, 1)
	}
}

// addUp adds a group's row to its parent's, or with sign -1 takes it off.
func (p *problem) addUp(table []int32, group int, sign int32) {
	for at := p.rows[group]; at < p.rows[group+1]; at++ {
		table[p.above[at]] += sign * table[at]
	}
}

// total is how many pods a group wants.
func (p *problem) total(want []int32, group int) int {
	sum := 0
	for _, n := range p.wants(want, group) {
		sum += int(n)
	}
	return sum
}
