package zones

import (
	"cmp"
	"math/bits"
)

// Why a node never takes a pod.
const (
	noObject = "no NodeResourceTopology"
	tooSmall = "NUMA zones too small"
	unasked  = "requests that no NUMA zone aligns"
)

// Never says, as a noun for "3 nodes excluded by …", why a node takes no pod with the demand even when it is empty; ""
// if it may take one. n may be nil: no NodeResourceTopology.
func (n *Node) Never(d *Demand) string {
	switch {
	case d == nil || !d.one && !n.Enforces():
		return ""
	case n == nil:
		return noObject
	case !n.Enforces():
		return "Topology Manager policy " + string(cmp.Or(n.Policy, "none"))
	}
	t := n.table()
	if d.one {
		if missing := t.lacks(d.whole[0].amounts); missing != "" {
			return "NUMA zones without " + missing
		}
		if len(t.needs(nil, d.whole[0].amounts)) == 0 {
			return unasked
		}
	}
	var buffer [frame]int64
	empty := attempt{table: t, node: n, free: append(buffer[:0], t.allocatable...)}
	if !empty.admit(d) {
		return tooSmall
	}
	return ""
}

// lacks returns a device that no zone has.
func (t *table) lacks(amounts []amount) string {
	for _, asked := range amounts {
		column := t.column(asked.name)
		if asked.device && (column < 0 || t.width(need{column, 1}) == 0) {
			return asked.name
		}
	}
	return ""
}

// parts returns what the kubelet of a node finds zones for, one after the other.
func (d *Demand) parts(n *Node) []part {
	if n.PerPod {
		return d.whole
	}
	return d.containers
}

// frame is how many amounts of a node are copied without an allocation, and widest how many zones, the first ones, are
// tried together, so that the masks can be counted: a kubelet takes eight zones unless it is told otherwise.
const (
	frame  = 96
	widest = 16
)

// attempt is a node that admits containers one after the other. Masks have a bit for each zone.
type attempt struct {
	*table
	node *Node
	// free has the rows of a table; less than 0 counts as 0.
	free []int64
	// left is what init containers of the pod leave to later ones, in rows, and tied has the zones of it for each column;
	// nil as long as there is nothing.
	left []int64
	tied []uint64
	// group are the zones that share the memory of an init container.
	group uint64
}

// admit takes what a pod asks for; false if the kubelet would reject the pod.
func (a *attempt) admit(d *Demand) bool {
	a.left, a.tied, a.group = nil, nil, 0
	parts := d.parts(a.node)
	for i := range parts {
		var buffer [8]need
		needs := a.needs(buffer[:0], parts[i].amounts)
		if len(needs) == 0 && !d.one {
			continue
		}
		if parts[i].ends && a.left == nil {
			a.left, a.tied = make([]int64, len(a.free)), make([]uint64, len(a.columns))
		}
		mask := a.choose(needs, d)
		if mask == 0 {
			return false
		}
		a.take(mask, needs, parts[i].ends)
	}
	return true
}

// choose returns the zones that the kubelet would take: as few as can be, of several masks the lowest number. It is 0
// if there are none.
func (a *attempt) choose(needs []need, d *Demand) uint64 {
	for zone := 0; zone < a.zones && len(needs) > 0; zone++ {
		if (d.zone == "" || d.zone == a.node.Zones[zone].Name) && a.has(1<<zone, needs) {
			return 1 << zone
		}
	}
	if d.one || a.node.Policy != Restricted {
		return 0
	}
	// Each resource has to need as many zones as every other.
	width := a.width(needs[0])
	for _, other := range needs[1:] {
		if a.width(other) != width {
			return 0
		}
	}
	if width < 2 || width > widest {
		return 0
	}
	for mask := uint64(1)<<width - 1; mask < 1<<min(a.zones, widest); mask = following(mask) {
		if a.has(mask, needs) {
			return mask
		}
	}
	return 0
}

// following returns the next larger number with as many bits set.
func following(mask uint64) uint64 {
	lowest := mask & -mask
	ripple := mask + lowest
	return ripple | (mask^ripple)/lowest>>2
}

// has reports whether zones together have what is needed.
func (a *attempt) has(mask uint64, needs []need) bool {
	for _, needed := range needs {
		missing := needed.amount
		for rest := mask; rest != 0; rest &= rest - 1 {
			i := a.place(bits.TrailingZeros64(rest), needed)
			missing -= max(a.free[i], 0)
			if a.left != nil {
				missing -= a.left[i]
			}
		}
		if missing > 0 || !a.combines(mask, needed) {
			return false
		}
	}
	return true
}

// combines reports whether a kubelet would use zones together. Its memory manager has zones for single use and groups
// of zones, and changes that only while no pod has memory there. The other managers reuse all that an init container
// leaves.
func (a *attempt) combines(mask uint64, needed need) bool {
	if !a.memory[needed.column] {
		return a.tied == nil || a.tied[needed.column]&^mask == 0
	}
	if mask == a.group {
		return true
	}
	for rest := mask; rest != 0 && mask&(mask-1) != 0; rest &= rest - 1 {
		if i := a.place(bits.TrailingZeros64(rest), needed); a.free[i] != a.allocatable[i] {
			return false
		}
	}
	return mask&a.group == 0
}

// take takes what is needed from a zone, and all that is free from several: nothing says how the kubelet divides it.
// For the same reason, what is left of several zones cannot be counted once a part of it is used.
func (a *attempt) take(mask uint64, needs []need, ends bool) {
	several := mask&(mask-1) != 0
	for _, needed := range needs {
		remains := -needed.amount
		for rest := mask; rest != 0; rest &= rest - 1 {
			i := a.place(bits.TrailingZeros64(rest), needed)
			taken, reused := needed.amount, int64(0)
			if a.left != nil {
				remains += a.left[i]
				reused = min(a.left[i], taken)
			}
			taken = min(taken-reused, max(a.free[i], 0))
			a.free[i] -= taken
			switch {
			case ends:
				a.left[i] += taken
			case several && a.left != nil:
				a.left[i] = 0
			case a.left != nil:
				a.left[i] -= reused
			}
		}
		switch {
		case ends:
			a.tied[needed.column] |= mask
		case a.tied != nil && remains <= 0:
			a.tied[needed.column] = 0
		}
		if ends && several && a.memory[needed.column] {
			a.group = mask
		}
	}
}
