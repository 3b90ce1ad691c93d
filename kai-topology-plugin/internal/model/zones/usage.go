package zones

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/shared/packing"
)

// Held is what a pod holds of each zone of a node, in the order of Zones. nil: nothing.
type Held []packing.Resources

// In names the zones in which anything is held.
func (h Held) In(n *Node) (names []string) {
	for zone, amounts := range h {
		if len(amounts) > 0 && zone < len(n.Zones) {
			names = append(names, n.Zones[zone].Name)
		}
	}
	return names
}

// Usage is what is free in the zones of a node. That of a node that does not enforce is nil: there every pod is
// admitted, and nothing is counted.
type Usage struct {
	node *Node
	*table
	free []int64
	pods map[types.UID]holding
}

// holding is what a pod holds. If the zone of the pod is not known, it counts in every zone.
type holding struct {
	demand *Demand
	held   Held
	known  bool
}

// Usage counts the pods on the node: first the pods with zones in known, then the others, as the kubelet would have
// admitted them one after the other, oldest first. Where the object reports what is available, and the pods explain it,
// their zones are the reported ones. Pods that have ended do not count. known may be nil.
func (n *Node) Usage(pods []*corev1.Pod, known func(types.UID) (Held, bool)) *Usage {
	if !n.Enforces() {
		return nil
	}
	u := n.count(pods, known)
	u.observe()
	return u
}

// count is Usage without regard to what is available.
func (n *Node) count(pods []*corev1.Pod, known func(types.UID) (Held, bool)) *Usage {
	t := n.table()
	u := &Usage{node: n, table: t, free: slices.Clone(t.allocatable), pods: make(map[types.UID]holding, len(pods))}
	others := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if known != nil {
			if held, ok := known(pod.UID); ok && len(held) == t.zones {
				if demand := DemandOf(pod); demand != nil {
					u.Add(pod.UID, demand, held)
				}
				continue
			}
		}
		others = append(others, pod)
	}
	slices.SortFunc(others, older)
	for _, pod := range others {
		u.Add(pod.UID, DemandOf(pod), nil)
	}
	return u
}

func older(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Namespace, b.Namespace))
}

// Admit says which zones the kubelet would take for one more pod now; false if it would reject it (or the one zone has
// no room). On a node that does not enforce no zone is the one zone.
func (u *Usage) Admit(d *Demand) (Held, bool) {
	if u == nil || d == nil {
		return nil, d == nil || !d.one
	}
	var buffer [frame]int64
	now := attempt{table: u.table, node: u.node, free: append(buffer[:0], u.free...)}
	if !now.admit(d) {
		return nil, false
	}
	return u.difference(now.free), true
}

// difference is what is no longer free.
func (u *Usage) difference(free []int64) (held Held) {
	for i := range free {
		if free[i] != u.free[i] {
			held = u.hold(held, i, u.free[i]-free[i])
		}
	}
	return held
}

// hold adds to what is held in a place of the table.
func (t *table) hold(held Held, place int, amount int64) Held {
	if held == nil {
		held = make(Held, t.zones)
	}
	zone := place / len(t.columns)
	if held[zone] == nil {
		held[zone] = packing.Resources{}
	}
	held[zone][t.columns[place%len(t.columns)]] += amount
	return held
}

// Add puts a pod on the node: held is its known zones, for which d may be nil; nil: predicted (Admit), or, if no zone
// admits it, counted in every zone. A pod that is there already is counted anew if there is a demand; those without UID
// are different pods.
func (u *Usage) Add(uid types.UID, d *Demand, held Held) Held {
	if u == nil || d == nil && held == nil {
		return nil
	}
	if before, there := u.pods[uid]; there && uid != "" {
		if d == nil {
			return before.held
		}
		u.put(before.held, 1)
	}
	known := true
	if held == nil {
		if held, known = u.Admit(d); !known {
			held = u.everywhere(d)
		}
	}
	u.put(held, -1)
	u.pods[uid] = holding{d, held, known}
	return held
}

// everywhere is what a pod may hold of each zone.
func (u *Usage) everywhere(d *Demand) (held Held) {
	for _, needed := range u.needs(nil, d.whole[0].amounts) {
		for zone := range u.zones {
			held = u.hold(held, u.place(zone, needed), min(needed.amount, u.at(u.allocatable, zone, needed)))
		}
	}
	return held
}

func (u *Usage) put(held Held, sign int64) {
	for zone, amounts := range held {
		for name, amount := range amounts {
			if column := u.column(name); column >= 0 && zone < u.zones {
				u.free[zone*len(u.columns)+column] += sign * clamp(amount)
			}
		}
	}
}

// Remove frees what the pod holds. A pod that is counted in every zone, because its zone is not known, stays so until
// the Usage is computed anew.
func (u *Usage) Remove(uid types.UID) {
	if u == nil {
		return
	}
	if pod := u.pods[uid]; pod.known {
		u.put(pod.held, 1)
		delete(u.pods, uid)
	}
}

// HeldBy is what a pod holds, and whether its zone is known (observed or predicted) rather than counted in every zone.
func (u *Usage) HeldBy(uid types.UID) (held Held, known bool) {
	if u == nil {
		return nil, false
	}
	pod := u.pods[uid]
	return pod.held, pod.known
}

// admissions bounds what Room tries one after the other: more pods than a kubelet takes.
const admissions = 1024

// Room is how many pods with the demand fit one after the other, at most limit.
func (u *Usage) Room(d *Demand, limit int64) int64 {
	switch {
	case d == nil, u == nil && !d.one:
		return limit
	case u == nil:
		return 0
	}
	if parts := d.parts(u.node); len(parts) == 1 {
		if room, sure := u.alone(&parts[0], d); sure {
			return min(room, limit)
		}
	}
	var buffer [frame]int64
	now := attempt{table: u.table, node: u.node, free: append(buffer[:0], u.free...)}
	room := int64(0)
	for ; room < min(limit, admissions) && now.admit(d); room++ {
		if room == 0 && slices.Equal(now.free, u.free) {
			return limit // The node aligns nothing of it.
		}
	}
	return room
}

// alone adds up the zones if each pod has a zone to itself; false if it may need several, or none.
func (u *Usage) alone(p *part, d *Demand) (room int64, sure bool) {
	var buffer [8]need
	needs := u.needs(buffer[:0], p.amounts)
	for zone := 0; zone < u.zones && len(needs) > 0; zone++ {
		if d.zone != "" && d.zone != u.node.Zones[zone].Name {
			continue
		}
		fit := int64(most)
		for _, needed := range needs {
			fit = min(fit, max(u.at(u.free, zone, needed), 0)/needed.amount)
		}
		room += fit
	}
	return room, room > 0 || d.one || len(needs) > 0 && u.node.Policy != Restricted
}

// Clone returns a Usage that changes on its own.
func (u *Usage) Clone() *Usage {
	if u == nil {
		return nil
	}
	return &Usage{node: u.node, table: u.table, free: slices.Clone(u.free), pods: maps.Clone(u.pods)}
}

// FreerThan reports whether more of anything is free in a zone than before. Both may be nil, which takes any pod.
func (u *Usage) FreerThan(before *Usage) bool {
	if u == nil || before == nil {
		return u == nil && before != nil
	}
	had := before.Free()
	for i, free := range u.Free() {
		for resource, amount := range free {
			if i >= len(had) || amount > had[i][resource] {
				return true
			}
		}
	}
	return false
}

// Free is what is free in each zone, in the order of Zones, at least 0. Callers do not change it.
func (u *Usage) Free() []packing.Resources {
	if u == nil {
		return nil
	}
	free := make([]packing.Resources, u.zones)
	for zone := range free {
		free[zone] = make(packing.Resources, len(u.columns))
		for column, name := range u.columns {
			free[zone][name] = max(u.free[zone*len(u.columns)+column], 0)
		}
	}
	return free
}
