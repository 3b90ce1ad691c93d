package simulate

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
)

// States of a gang at the end.
const (
	Ended      = "Ended"
	Running    = "Running"
	Waiting    = "Waiting"
	Infeasible = "Infeasible"
)

// Result is what became of a stream. Times are seconds from the start.
type Result struct {
	// Gangs are the gangs that arrived, in the order of the stream.
	Gangs []Gang `json:"gangs"`
	// Capacity is what all nodes offer together.
	Capacity map[string]float64 `json:"capacity"`
	// Series has a sample for each moment at which anything happened, from the start.
	Series []Sample `json:"series"`
}

// Gang is what became of a gang.
type Gang struct {
	Name    string   `json:"name"`
	Arrived float64  `json:"arrived"`
	Started *float64 `json:"started"`
	Ended   *float64 `json:"ended"`
	// State is Ended, Running, Waiting or Infeasible: it would not fit without the rest of the stream.
	State string `json:"state"`
	// Nodes has the number of its pods by node, where it stands or stood last.
	Nodes map[string]int `json:"nodes"`
	// Domains and LeastDomains count domains by level: those it stands in, and the fewest that could hold its pods.
	Domains      map[string]int `json:"domains"`
	LeastDomains map[string]int `json:"leastDomains"`
	// Preemptions counts how often it lost pods to others, and Moves the pods that found other nodes after a failure.
	Preemptions int `json:"preemptions"`
	Moves       int `json:"moves"`
	// held is why it waits if no room would help.
	held string
}

// Sample is what was in use from a moment on, and how many gangs waited and ran.
type Sample struct {
	At      float64            `json:"at"`
	Used    map[string]float64 `json:"used"`
	Waiting int                `json:"waiting"`
	Running int                `json:"running"`
}

func (s *simulator) result(ctx context.Context) (*Result, error) {
	result := &Result{Gangs: []Gang{}, Capacity: map[string]float64{}, Series: s.usage.series}
	for resource, amount := range s.usage.capacity {
		result.Capacity[resource] = nodes.InUnits(resource, amount)
	}
	for _, r := range s.runs {
		state, err := s.stateOf(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("gang %s: %w", r.job.Name, err)
		}
		r.State = state
		if r.queued && r.held != nil {
			r.Gang.held = r.held.Message
		}
		result.Gangs = append(result.Gangs, r.Gang)
	}
	return result, nil
}

func (s *simulator) stateOf(ctx context.Context, r *run) (string, error) {
	switch {
	case r.Ended != nil:
		return Ended, nil
	case r.running:
		return Running, nil
	case r.podGroup == nil:
		return Infeasible, nil
	case r.Started != nil:
		return Waiting, nil
	}
	if fits, err := s.fitsAlone(ctx, r); err != nil || fits {
		return Waiting, err
	}
	return Infeasible, nil
}

// JSON writes the result as one object.
func (r *Result) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// warn names the gangs that wait because of what they are, which no room would help.
func (r *Result) warn(to io.Writer) {
	for i := range r.Gangs {
		if held := r.Gangs[i].held; held != "" {
			fmt.Fprintf(to, "warning: gang %s: %s\n", r.Gangs[i].Name, held)
		}
	}
}

// CSV writes a line per gang, with a heading.
func (r *Result) CSV(w io.Writer) error {
	known := map[string]bool{}
	for i := range r.Gangs {
		for level := range r.Gangs[i].LeastDomains {
			known[level] = true
		}
	}
	levels := slices.Sorted(maps.Keys(known))
	heading := []string{"name", "arrived", "started", "ended", "state", "pods", "nodes", "preemptions", "moves"}
	for _, level := range levels {
		heading = append(heading, "domains "+level, "leastDomains "+level)
	}
	out := csv.NewWriter(w)
	if err := out.Write(heading); err != nil {
		return err
	}
	for i := range r.Gangs {
		gang := &r.Gangs[i]
		pods := 0
		for _, count := range gang.Nodes {
			pods += count
		}
		row := []string{
			gang.Name, seconds(&gang.Arrived), seconds(gang.Started), seconds(gang.Ended), gang.State,
			strconv.Itoa(pods), strconv.Itoa(len(gang.Nodes)), strconv.Itoa(gang.Preemptions), strconv.Itoa(gang.Moves),
		}
		for _, level := range levels {
			row = append(row, count(gang.Domains, level), count(gang.LeastDomains, level))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func seconds(at *float64) string {
	if at == nil {
		return ""
	}
	return strconv.FormatFloat(*at, 'f', -1, 64)
}

func count(counts map[string]int, level string) string {
	if n, ok := counts[level]; ok {
		return strconv.Itoa(n)
	}
	return ""
}

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
