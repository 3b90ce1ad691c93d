package zones

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/shared/packing"
)

// observation is what a NodeResourceTopology shows of the zones of the pods on a node.
type observation struct {
	*Usage
	// shown marks the columns with as much in use as the pods request. Other columns are stale, or never maintained.
	shown []bool
	// used is what units have to explain, in the rows of the table.
	used  []int64
	units []unit
	steps int
}

// unit is what a pod has from one zone.
type unit struct {
	pod   types.UID
	needs []need
	// amount is that of the first need that is shown.
	amount int64
	// was is a zone in which the pod was counted.
	was, zone int
}

// searched bounds how often a zone is tried for a unit.
const searched = 4096

// observe counts pods in the zones that the object shows. What was counted stays if the object shows the same. Where
// pods can be told apart in several ways, as many as can be stay where they were counted.
func (u *Usage) observe() {
	o := &observation{Usage: u, shown: make([]bool, len(u.columns)), used: make([]int64, len(u.free))}
	if !o.consistent() || o.explained() || !o.split() || !o.search(0) {
		return
	}
	held := map[types.UID]Held{}
	for _, unit := range o.units {
		for _, needed := range unit.needs {
			held[unit.pod] = u.hold(held[unit.pod], u.place(unit.zone, needed), needed.amount)
		}
	}
	for uid, now := range held {
		pod := u.pods[uid]
		u.put(pod.held, 1)
		u.put(now, -1)
		u.pods[uid] = holding{pod.demand, now, true}
	}
}

// consistent reads what is in use, and reports whether pods explain the sum of it for any resource.
func (o *observation) consistent() (some bool) {
	asked := make([]int64, len(o.columns))
	for _, pod := range o.pods {
		var buffer [8]need
		for _, needed := range o.needs(buffer[:0], pod.demand.whole[0].amounts) {
			asked[needed.column] += needed.amount
		}
	}
	for column, name := range o.columns {
		unexplained, told := asked[column], asked[column] > 0
		for zone := 0; told && zone < o.zones; zone++ {
			i := o.place(zone, need{column: column})
			available, there := o.node.Zones[zone].Available[name]
			o.used[i] = o.allocatable[i] - clamp(available)
			told = o.used[i] >= 0 && (there || o.allocatable[i] == 0)
			unexplained -= o.used[i]
		}
		o.shown[column] = told && unexplained == 0
		some = some || o.shown[column]
	}
	return some
}

// explained reports whether the pods are counted in the zones that are in use.
func (o *observation) explained() bool {
	for i := range o.used {
		if o.shown[i%len(o.columns)] && o.allocatable[i]-o.free[i] != o.used[i] {
			return false
		}
	}
	return true
}

// split lists the units of the pods, the largest first; false if only a part of a pod is shown.
func (o *observation) split() bool {
	for _, uid := range slices.Sorted(maps.Keys(o.pods)) {
		pod, hidden, before := o.pods[uid], false, len(o.units)
		parts := pod.demand.parts(o.node)
		if slices.ContainsFunc(parts, func(part part) bool { return part.ends }) {
			parts = pod.demand.whole
		}
		was := slices.IndexFunc(pod.held, func(amounts packing.Resources) bool { return len(amounts) > 0 })
		for i := range parts {
			needs := o.needs(nil, parts[i].amounts)
			first := slices.IndexFunc(needs, func(needed need) bool { return o.shown[needed.column] })
			if first >= 0 {
				o.units = append(o.units, unit{pod: uid, needs: needs, amount: needs[first].amount, was: max(was, 0)})
			}
			hidden = hidden || first < 0 && len(needs) > 0
		}
		if hidden && len(o.units) > before {
			return false
		}
	}
	slices.SortStableFunc(o.units, func(a, b unit) int { return cmp.Compare(b.amount, a.amount) })
	return true
}

// search finds zones for the units from the i-th on, and tries those first in which they were counted.
func (o *observation) search(i int) bool {
	if i == len(o.units) {
		return true
	}
	unit := &o.units[i]
	for next := 0; next < o.zones && o.steps < searched; next++ {
		o.steps++
		unit.zone = (unit.was + next) % o.zones
		if o.use(unit, -1) && o.search(i+1) {
			return true
		}
		o.use(unit, 1)
	}
	return false
}

// use adds to what is used of the zone of a unit, and reports whether that is at least 0.
func (o *observation) use(u *unit, sign int64) bool {
	enough := true
	for _, needed := range u.needs {
		if o.shown[needed.column] {
			used := &o.used[o.place(u.zone, needed)]
			*used += sign * needed.amount
			enough = enough && *used >= 0
		}
	}
	return enough
}
