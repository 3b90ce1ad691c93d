package zones

import (
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
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
		policy := n.Policy
		if policy == "" {
			policy = "none"
		}
		return "Topology Manager policy " + string(policy)
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
		if nodes.IsDevice(corev1.ResourceName(asked.name)) && (column < 0 || t.width(need{column, 1}) == 0) {
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

// frame is how many amounts of a node are copied without an allocation, and widest the most zones that are tried
// together, so that the masks can be counted: a kubelet takes eight zones unless it is told otherwise.
const (
	frame  = 96
	widest = 16
)

// attempt is a node that admits containers one after the other.
type attempt struct {
	*table
	node *Node
	// free has the rows of a table; less than 0 counts as 0.
	free []int64
	// left is what init containers of the pod leave to later ones, in rows; nil as long as there is nothing.
	left []int64
	// group are the zones that share the memory of an init container.
	group mask
}

// mask is one or more zones in ascending order.
type mask struct {
	zones [widest]int32
	count int
}

func (m *mask) all() []int32 { return m.zones[:m.count] }

// admit takes what a pod asks for; false if the kubelet would reject the pod.
func (a *attempt) admit(d *Demand) bool {
	parts := d.parts(a.node)
	for i := range parts {
		var buffer [8]need
		needs := a.needs(buffer[:0], parts[i].amounts)
		if len(needs) == 0 && !d.one {
			continue
		}
		if parts[i].ends && a.left == nil {
			a.left = make([]int64, len(a.free))
		}
		chosen, ok := a.choose(needs, d)
		if !ok {
			return false
		}
		a.take(chosen, needs, parts[i].ends)
	}
	a.left, a.group = nil, mask{}
	return true
}

// choose returns the zones that the kubelet would take: as few as can be, of several masks the one of the lowest zones.
func (a *attempt) choose(needs []need, d *Demand) (mask, bool) {
	if len(needs) == 0 {
		return mask{}, false
	}
	for zone := range a.zones {
		one := mask{count: 1}
		one.zones[0] = int32(zone)
		if (d.zone == "" || d.zone == a.node.Zones[zone].Name) && a.has(&one, needs) {
			return one, true
		}
	}
	if d.one || a.node.Policy != Restricted {
		return mask{}, false
	}
	return a.several(needs)
}

// several chooses from the masks of two and more zones. Each resource has to need as many as every other.
func (a *attempt) several(needs []need) (mask, bool) {
	width := a.width(needs[0])
	for _, other := range needs[1:] {
		if a.width(other) != width {
			return mask{}, false
		}
	}
	candidates := mask{}
	for zone := 0; zone < a.zones && candidates.count < widest; zone++ {
		if !slices.ContainsFunc(needs, func(needed need) bool { return a.within(zone, needed) == 0 }) {
			candidates.zones[candidates.count] = int32(zone)
			candidates.count++
		}
	}
	if width < 2 || width > candidates.count {
		return mask{}, false
	}
	// The numbers with as many bits in ascending order, which is how a kubelet compares masks.
	for set := uint64(1)<<width - 1; set < 1<<candidates.count; set = following(set) {
		tried := mask{}
		for rest := set; rest != 0; rest &= rest - 1 {
			tried.zones[tried.count] = candidates.zones[bits.TrailingZeros64(rest)]
			tried.count++
		}
		if a.has(&tried, needs) {
			return tried, true
		}
	}
	return mask{}, false
}

// following returns the next larger number with as many bits set.
func following(set uint64) uint64 {
	lowest := set & -set
	ripple := set + lowest
	return ripple | (set^ripple)/lowest>>2
}

// has reports whether zones together have what is needed.
func (a *attempt) has(m *mask, needs []need) bool {
	for _, needed := range needs {
		amount := needed.amount
		for _, zone := range m.all() {
			amount -= a.within(int(zone), needed)
		}
		if amount > 0 || !a.combines(m, needed) {
			return false
		}
	}
	return true
}

// within is what a zone has free, with what an init container leaves.
func (a *attempt) within(zone int, needed need) int64 {
	amount := max(a.at(a.free, zone, needed), 0)
	if a.left != nil {
		amount += a.at(a.left, zone, needed)
	}
	return amount
}

// combines reports whether a kubelet would use zones together. Its memory manager has zones for single use and groups
// of zones, and changes that only while no pod has memory there. The other managers reuse all that an init container
// leaves.
func (a *attempt) combines(m *mask, needed need) bool {
	if a.memory[needed.column] {
		if a.group.count > 0 && slices.Equal(m.all(), a.group.all()) {
			return true
		}
		return !slices.ContainsFunc(m.all(), func(zone int32) bool {
			held := a.at(a.free, int(zone), needed) != a.at(a.allocatable, int(zone), needed)
			return m.count > 1 && held || slices.Contains(a.group.all(), zone)
		})
	}
	for zone := 0; a.left != nil && zone < a.zones; zone++ {
		if a.at(a.left, zone, needed) > 0 && !slices.Contains(m.all(), int32(zone)) {
			return false
		}
	}
	return true
}

// take takes what is needed from zones, and all that several zones have free: nothing says how the kubelet divides it.
func (a *attempt) take(m mask, needs []need, ends bool) {
	for _, needed := range needs {
		for _, zone := range m.all() {
			i := int(zone)*len(a.columns) + needed.column
			taken := needed.amount
			if a.left != nil {
				taken = max(taken-a.left[i], 0)
			}
			taken = min(taken, max(a.free[i], 0))
			a.free[i] -= taken
			switch {
			case ends:
				a.left[i] += taken
			case a.left != nil && m.count > 1:
				a.left[i] = 0
			case a.left != nil:
				a.left[i] = max(a.left[i]-needed.amount, 0)
			}
		}
		if ends && m.count > 1 && a.memory[needed.column] {
			a.group = m
		}
	}
}
