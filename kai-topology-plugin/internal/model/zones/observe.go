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
	// shown tells the columns of which as much is in use as the pods ask for. Others are stale, or never maintained.
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
	// was is the zone in which the pod was counted, -1 if there is none or there are several.
	was, zone int
}

// searched bounds how often a zone is tried for a unit.
const searched = 4096

// observe counts pods in the zones that the object shows. What was counted stays if the object shows the same. Where it
// shows that, but not which pod is in which zone, one of the possible orders is taken.
func (u *Usage) observe() {
	o := &observation{Usage: u, shown: make([]bool, len(u.columns)), used: make([]int64, len(u.free))}
	if !o.consistent() || o.explained() || !o.split() || !o.search(0) {
		return
	}
	o.keep()
	held := map[types.UID]Held{}
	for _, unit := range o.units {
		if held[unit.pod] == nil {
			held[unit.pod] = make(Held, u.zones)
		}
		if held[unit.pod][unit.zone] == nil {
			held[unit.pod][unit.zone] = packing.Resources{}
		}
		for _, needed := range unit.needs {
			held[unit.pod][unit.zone][u.columns[needed.column]] += needed.amount
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
		for _, needed := range o.needs(nil, pod.demand.whole[0].amounts) {
			asked[needed.column] += needed.amount
		}
	}
	for column, name := range o.columns {
		total, told := int64(0), asked[column] > 0
		for zone := range o.zones {
			allocatable := o.at(o.allocatable, zone, need{column: column})
			available, there := o.node.Zones[zone].Available[name]
			used := allocatable - clamp(available)
			o.used[zone*len(o.columns)+column] = used
			told = told && used >= 0 && (there || allocatable == 0)
			total += used
		}
		o.shown[column] = told && total == asked[column]
		some = some || o.shown[column]
	}
	return some
}

// explained reports whether the pods are counted in the zones that are in use.
func (o *observation) explained() bool {
	for column, shown := range o.shown {
		for zone := 0; shown && zone < o.zones; zone++ {
			i := zone*len(o.columns) + column
			if o.allocatable[i]-o.free[i] != o.used[i] {
				return false
			}
		}
	}
	return !slices.ContainsFunc(slices.Collect(maps.Values(o.pods)), func(pod holding) bool { return !pod.known })
}

// split lists the units, the largest first. Pods that also have units of which nothing is shown stay where they are. It
// is false if a pod has a share of several zones, which nothing tells.
func (o *observation) split() bool {
	for _, uid := range slices.Sorted(maps.Keys(o.pods)) {
		pod := o.pods[uid]
		units := o.unitsOf(uid, pod)
		visible := func(unit unit) bool { return o.visible(unit) }
		switch {
		case !slices.ContainsFunc(units, visible):
			continue
		case slices.ContainsFunc(units, func(unit unit) bool {
			return slices.ContainsFunc(unit.needs, func(needed need) bool { return o.width(needed) != 1 })
		}):
			return false
		case slices.ContainsFunc(units, func(unit unit) bool { return !visible(unit) }):
			if !o.explain(pod) {
				return false
			}
		default:
			o.units = append(o.units, units...)
		}
	}
	slices.SortStableFunc(o.units, func(a, b unit) int { return -o.compare(a, b) })
	return true
}

func (o *observation) unitsOf(uid types.UID, pod holding) (units []unit) {
	parts := pod.demand.parts(o.node)
	if slices.ContainsFunc(parts, func(part part) bool { return part.ends }) {
		parts = pod.demand.whole
	}
	was := -1
	if zones := pod.held.In(o.node); pod.known && len(zones) == 1 {
		was = slices.IndexFunc(pod.held, func(amounts packing.Resources) bool { return len(amounts) > 0 })
	}
	for i := range parts {
		if needs := o.needs(nil, parts[i].amounts); len(needs) > 0 {
			units = append(units, unit{pod: uid, needs: needs, was: was})
		}
	}
	return units
}

func (o *observation) visible(u unit) bool {
	return slices.ContainsFunc(u.needs, func(needed need) bool { return o.shown[needed.column] })
}

// explain takes what a pod holds off what is used.
func (o *observation) explain(pod holding) bool {
	for zone, amounts := range pod.held {
		for name, amount := range amounts {
			if column := o.column(name); column >= 0 && o.shown[column] {
				o.used[zone*len(o.columns)+column] -= amount
			}
		}
	}
	return pod.known
}

// compare is 0 for units of the same amounts of what is shown.
func (o *observation) compare(a, b unit) int {
	shown := func(needs []need) []need {
		return slices.DeleteFunc(slices.Clone(needs), func(needed need) bool { return !o.shown[needed.column] })
	}
	return slices.CompareFunc(shown(a.needs), shown(b.needs), func(a, b need) int {
		return cmp.Or(cmp.Compare(b.column, a.column), cmp.Compare(a.amount, b.amount))
	})
}

// search finds zones for the units from the i-th on. Of units of the same amounts none is in a lower zone than the one
// before it.
func (o *observation) search(i int) bool {
	if i == len(o.units) {
		return true
	}
	first := 0
	if i > 0 && o.compare(o.units[i-1], o.units[i]) == 0 {
		first = o.units[i-1].zone
	}
	for zone := first; zone < o.zones; zone++ {
		if o.steps++; o.steps > searched {
			return false
		}
		if o.use(zone, o.units[i].needs, -1) {
			o.units[i].zone = zone
			if o.search(i + 1) {
				return true
			}
		}
		o.use(zone, o.units[i].needs, 1)
	}
	return false
}

// use adds to what is used of a zone, and reports whether that is at least 0.
func (o *observation) use(zone int, needs []need, sign int64) bool {
	enough := true
	for _, needed := range needs {
		if o.shown[needed.column] {
			used := &o.used[zone*len(o.columns)+needed.column]
			*used += sign * needed.amount
			enough = enough && *used >= 0
		}
	}
	return enough
}

// keep exchanges the zones of units of the same amounts, so that as many as can be stay where they were counted.
func (o *observation) keep() {
	for begin := 0; begin < len(o.units); {
		end := begin + 1
		for end < len(o.units) && o.compare(o.units[begin], o.units[end]) == 0 {
			end++
		}
		alike := o.units[begin:end]
		for i := range alike {
			for j := range alike {
				if alike[i].zone == alike[j].was && alike[j].zone != alike[j].was && alike[i].zone != alike[i].was {
					alike[i].zone, alike[j].zone = alike[j].zone, alike[i].zone
				}
			}
		}
		begin = end
	}
}
