package simulate

import (
	"maps"
	"math"
	"slices"
)

// Metrics are figures about a simulated stream by their names, as docs/simulation.md lists them. A figure that nothing
// says anything about, such as the waiting time if no gang arrived, is left out.
type Metrics map[string]float64

// shortest is what a shorter duration counts as for the stretch, in seconds: a second that a gang of no second waits
// says nothing.
const shortest = 10

// Metrics computes the figures. Times are in seconds.
func (r *Result) Metrics() Metrics {
	found := Metrics{"refusedThoughFits": float64(r.misjudged)}
	r.countStates(found)
	r.shareDevices(found)
	found.times("wait", r.waits(), true)
	found.times("stretch", r.stretches(), false)
	r.countDomains(found)
	for _, at := range r.pieces {
		if r.Until > 0 && len(at.free) > 0 {
			found["fragmentation "+at.level] = at.sum / r.Until
		}
	}
	return found
}

func (r *Result) countStates(found Metrics) {
	for _, state := range []string{Ended, Running, Waiting, Infeasible} {
		found["gangs"+state] = 0
	}
	found["preemptions"], found["moves"] = 0, 0
	for i, of := range r.runs {
		found["gangs"+r.states[i]]++
		found["preemptions"] += float64(of.preemptions)
		found["moves"] += float64(of.moves)
	}
}

// shareDevices says what became of the devices that nodes offered while they were not down: the shares add up to 1.
func (r *Result) shareDevices(found Metrics) {
	used := r.usedSeconds()
	parts := map[string]float64{
		"allocationRatio": used, "idleNoDemand": r.Idle.NoDemand, "idleFilters": r.Idle.Filters,
		"idleReserved": r.Idle.Reserved, "idleUnavoidable": r.Idle.Unavoidable, "idleAvoidable": r.Idle.Avoidable,
	}
	offered := 0.0
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		offered += parts[name]
	}
	for name, part := range parts {
		if offered > 0 {
			found[name] = part / offered
		}
	}
}

// usedSeconds is what pods had of the device, in resource-seconds.
func (r *Result) usedSeconds() (used float64) {
	device := slices.Index(r.names, r.Device)
	for i, sample := range r.series {
		until := r.Until
		if i+1 < len(r.series) {
			until = r.series[i+1].at
		}
		if device >= 0 {
			used += inUnits(r.Device, sample.used[device]) * (until - sample.at)
		}
	}
	return used
}

// waits are the times until gangs started first, or until the end for those that could have and did not.
func (r *Result) waits() (waits []float64) {
	for i, of := range r.runs {
		switch {
		case !math.IsNaN(of.started):
			waits = append(waits, of.started-of.arrived)
		case r.states[i] == Waiting:
			waits = append(waits, r.Until-of.arrived)
		}
	}
	return waits
}

// stretches are, of the gangs that ended, how many times longer that took since they arrived than they ran.
func (r *Result) stretches() (stretches []float64) {
	for _, of := range r.runs {
		if !math.IsNaN(of.ended) {
			stretches = append(stretches, max(1, (of.ended-of.arrived)/max(shortest, of.job.Duration)))
		}
	}
	return stretches
}

// times adds mean and quantiles of values.
func (m Metrics) times(name string, values []float64, longest bool) {
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	m[name+"Mean"] = sum / float64(len(values))
	m[name+"P50"], m[name+"P90"] = quantile(values, 0.5), quantile(values, 0.9)
	if longest {
		m[name+"Max"] = values[len(values)-1]
	}
}

// countDomains says in how many domains of each level gangs stood last, in the mean, and how many they needed at least.
func (r *Result) countDomains(found Metrics) {
	used, least, gangs := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, of := range r.runs {
		for level, domains := range of.domains {
			if domains > 0 {
				used[level] += float64(domains)
				least[level] += float64(of.least[level])
				gangs[level]++
			}
		}
	}
	for level, count := range gangs {
		found["domains "+level], found["leastDomains "+level] = used[level]/count, least[level]/count
	}
}
