package simulate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Summary writes what became of the stream for people.
func (r *Result) Summary(w io.Writer) error {
	counts := map[string]int{}
	preemptions, moves := 0, 0
	var waits []float64
	for i := range r.Gangs {
		gang := &r.Gangs[i]
		counts[gang.State]++
		preemptions, moves = preemptions+gang.Preemptions, moves+gang.Moves
		if gang.Started != nil {
			waits = append(waits, *gang.Started-gang.Arrived)
		}
	}
	slices.Sort(waits)
	states := []string{}
	for _, state := range []string{Ended, Running, Waiting, Infeasible} {
		states = append(states, fmt.Sprintf("%d %s", counts[state], state))
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%d gangs in %.0f seconds: %s; %d preemptions, %d pods moved\n", len(r.Gangs),
		r.Series[len(r.Series)-1].At, strings.Join(states, ", "), preemptions, moves)
	if last := len(waits) - 1; last >= 0 {
		fmt.Fprintf(out, "waited until they started: half at most %.0f s, 9 of 10 at most %.0f s, all at most %.0f s\n",
			waits[last/2], waits[last*9/10], waits[last])
	}
	r.summarizeUsage(out)
	r.summarizeDomains(out)
	return out.Flush()
}

func (r *Result) summarizeUsage(out io.Writer) {
	mean := map[string]float64{}
	total := r.Series[len(r.Series)-1].At
	for i := range r.Series[:len(r.Series)-1] {
		for resource, used := range r.Series[i].Used {
			mean[resource] += used * (r.Series[i+1].At - r.Series[i].At) / total
		}
	}
	fmt.Fprint(out, "\nRESOURCE\tCAPACITY\tUSED IN THE MEAN\n")
	for _, resource := range slices.Sorted(maps.Keys(r.Capacity)) {
		fmt.Fprintf(out, "%s\t%.0f\t%.0f %%\n", resource, r.Capacity[resource], 100*mean[resource]/r.Capacity[resource])
	}
}

// summarizeDomains counts domains of gangs that have or had nodes there.
func (r *Result) summarizeDomains(out io.Writer) {
	gangs, used, least := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range r.Gangs {
		for level, domains := range r.Gangs[i].Domains {
			if domains > 0 {
				gangs[level]++
				used[level] += float64(domains)
				least[level] += float64(r.Gangs[i].LeastDomains[level])
			}
		}
	}
	if len(gangs) == 0 {
		return
	}
	fmt.Fprint(out, "\nLEVEL\tGANGS\tDOMAINS PER GANG\tFEWEST POSSIBLE\n")
	for _, level := range slices.Sorted(maps.Keys(gangs)) {
		fmt.Fprintf(out, "%s\t%.0f\t%.2f\t%.2f\n",
			level, gangs[level], used[level]/gangs[level], least[level]/gangs[level])
	}
}
