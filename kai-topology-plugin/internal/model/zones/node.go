// Package zones predicts the kubelet's Topology Manager: which NUMA zones of a node a pod gets, and whether a node
// rejects it. What nodes have is read from NodeResourceTopology objects.
package zones

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"packtree.dev/shared/packing"
)

// Policy is the Topology Manager policy of a kubelet: none, best-effort, restricted or single-numa-node.
type Policy string

// The policies by which a kubelet rejects pods.
const (
	Restricted Policy = "restricted"
	SingleNUMA Policy = "single-numa-node"
)

// Node is what a NodeResourceTopology says of one node. It is never changed.
type Node struct {
	Name   string
	Policy Policy
	// PerPod is set if the kubelet chooses zones for a pod as a whole, and not for each of its containers.
	PerPod bool
	// Zones are sorted by their number ("node-0", "node-1", ..., "node-10").
	Zones []Zone
	// read is the table of a node that Read returned.
	read *table
}

// Zone is a NUMA zone. Amounts are in the units of kubeframework.Requests (cpu in millicores, others in units/bytes).
type Zone struct {
	Name string
	// Available lacks what the agent does not report, and Capacity may be nil: it is at least what is allocatable.
	Capacity, Allocatable, Available packing.Resources
}

// Enforces reports whether the kubelet rejects pods that do not fit into zones: with the policies single-numa-node and
// restricted. A nil node does not.
func (n *Node) Enforces() bool {
	return n != nil && (n.Policy == SingleNUMA || n.Policy == Restricted)
}

// Empty returns a node with the same zones in which nothing is used.
func (n *Node) Empty(name string) *Node {
	empty := *n
	empty.Name, empty.Zones = name, slices.Clone(n.Zones)
	for i := range empty.Zones {
		empty.Zones[i].Available = empty.Zones[i].Allocatable
	}
	return &empty
}

// Equal reports whether two objects say the same (Available included). Both may be nil.
func (n *Node) Equal(other *Node) bool {
	return n.SameRule(other) && (n == nil || n.Name == other.Name && slices.EqualFunc(n.Zones, other.Zones,
		func(a, b Zone) bool { return maps.Equal(a.Available, b.Available) }))
}

// SameRule reports whether kubelets take the same pods into empty zones. Both nodes may be nil.
func (n *Node) SameRule(other *Node) bool {
	if n == nil || other == nil {
		return n == other
	}
	return n.Policy == other.Policy && n.PerPod == other.PerPod && slices.EqualFunc(n.Zones, other.Zones,
		func(a, b Zone) bool {
			return a.Name == b.Name && maps.Equal(a.Capacity, b.Capacity) && maps.Equal(a.Allocatable, b.Allocatable)
		})
}

// most bounds every amount, so that sums do not overflow: a thousandfold of what machines have.
const most = 1 << 50

// mostZones is how many zones a kubelet can number.
const mostZones = 64

// table has the amounts of a node, a row for each zone and a column for each aligned resource that any zone lists.
type table struct {
	columns []string
	// memory tells columns of the memory manager, which keeps pods of one and of several zones apart.
	memory []bool
	zones  int
	// allocatable is what pods may have. A kubelet judges how many zones a pod needs by size.
	allocatable, size []int64
}

func (n *Node) table() *table {
	if n.read != nil {
		return n.read
	}
	t := &table{zones: min(len(n.Zones), mostZones)}
	for _, zone := range n.Zones {
		t.columns = slices.AppendSeq(slices.AppendSeq(t.columns, maps.Keys(zone.Allocatable)), maps.Keys(zone.Capacity))
	}
	slices.Sort(t.columns)
	t.columns = slices.Compact(t.columns)
	for _, name := range t.columns {
		t.memory = append(t.memory, isMemory(corev1.ResourceName(name)))
	}
	for _, zone := range n.Zones[:t.zones] {
		for column, name := range t.columns {
			allocatable := clamp(zone.Allocatable[name])
			size := allocatable
			// Its CPUs and devices count although they are reserved or unhealthy, its memory only as far as it is allocatable.
			if !t.memory[column] {
				size = max(size, clamp(zone.Capacity[name]))
			}
			t.allocatable, t.size = append(t.allocatable, allocatable), append(t.size, size)
		}
	}
	return t
}

func isMemory(name corev1.ResourceName) bool {
	return name == corev1.ResourceMemory || v1helper.IsHugePageResourceName(name)
}

func clamp(amount int64) int64 { return min(max(amount, 0), most) }

// column returns the column of a resource, -1 if no zone lists it.
func (t *table) column(name string) int {
	for i := range t.columns {
		if t.columns[i] == name {
			return i
		}
	}
	return -1
}

// need is an amount by its column.
type need struct {
	column int
	amount int64
}

// needs appends what is aligned of amounts.
func (t *table) needs(needs []need, amounts []amount) []need {
	for i := range amounts {
		if column := t.column(amounts[i].name); column >= 0 {
			needs = append(needs, need{column, amounts[i].value})
		}
	}
	return needs
}

// width is the least number of zones that have an amount when they are empty, 0 if all together have not.
func (t *table) width(needed need) int {
	taken := uint64(0)
	for width, left := 1, needed.amount; width <= t.zones; width++ {
		largest := -1
		for zone := range t.zones {
			if taken>>zone&1 == 0 && (largest < 0 || t.at(t.size, zone, needed) > t.at(t.size, largest, needed)) {
				largest = zone
			}
		}
		if left -= t.at(t.size, largest, needed); left <= 0 {
			return width
		}
		taken |= 1 << largest
	}
	return 0
}

// place is where a resource of a zone is in the rows.
func (t *table) place(zone int, needed need) int { return zone*len(t.columns) + needed.column }

func (t *table) at(rows []int64, zone int, needed need) int64 { return rows[t.place(zone, needed)] }
