package simulate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	// Device is the resource of which the stream asks for most of what there is, and Idle is in resource-seconds of it.
	Device string
	Idle   Idle
	// Until is when the simulation ended.
	Until float64

	runs     []*run
	states   []string
	terrain  *terrain
	names    []string
	capacity []float64
	series   []sample
	pieces   []*pieces
	// misjudged counts the gangs that another decider than the scheduler refused though they fitted.
	misjudged int
	// recorded is the recording of it, if that was asked for.
	recorded *bytes.Buffer
}

// Gang is what became of a gang.
type Gang struct {
	Name    string   `json:"name"`
	Arrived float64  `json:"arrived"`
	Started *float64 `json:"started"`
	Ended   *float64 `json:"ended"`
	// State is Ended, Running, Waiting or Infeasible: it would not fit if nobody of the stream ran.
	State string `json:"state"`
	// Nodes has the number of its pods by node, where it stands or stood last.
	Nodes map[string]int `json:"nodes"`
	// Domains and LeastDomains count domains by level: those it stands in, and the fewest that could hold its pods.
	Domains      map[string]int `json:"domains"`
	LeastDomains map[string]int `json:"leastDomains"`
	// Preemptions counts how often it lost pods to others, and Moves the pods that found other nodes after a failure.
	Preemptions int `json:"preemptions"`
	Moves       int `json:"moves"`
}

// Sample is what was in use from a moment on, and how many gangs waited and ran.
type Sample struct {
	At      float64            `json:"at"`
	Used    map[string]float64 `json:"used"`
	Waiting int                `json:"waiting"`
	Running int                `json:"running"`
}

func (s *simulator) result(ctx context.Context) (*Result, error) {
	result := &Result{
		Device: s.account.device, Idle: s.account.idle.in(s.account.device), Until: s.now,
		runs: s.runs, terrain: s.terrain, names: s.account.names, series: s.account.series, pieces: s.account.pieces,
	}
	for _, name := range result.names {
		result.capacity = append(result.capacity, inUnits(name, s.account.capacity[name]))
	}
	for _, r := range s.runs {
		state, err := s.stateOf(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("gang %s: %w", r.job.Name, err)
		}
		result.states = append(result.states, state)
		if r.misjudged {
			result.misjudged++
		}
	}
	return result, nil
}

// inUnits is an amount as Kubernetes writes it: CPU in cores.
func inUnits(resource string, amount int64) float64 {
	if resource == string(corev1.ResourceCPU) {
		return float64(amount) / 1000
	}
	return float64(amount)
}

func (i Idle) in(device string) Idle {
	if device != string(corev1.ResourceCPU) {
		return i
	}
	return Idle{
		NoDemand: i.NoDemand / 1000, Filters: i.Filters / 1000, Reserved: i.Reserved / 1000,
		Unavoidable: i.Unavoidable / 1000, Avoidable: i.Avoidable / 1000,
	}
}

func (s *simulator) stateOf(ctx context.Context, r *run) (string, error) {
	switch {
	case !math.IsNaN(r.ended):
		return Ended, nil
	case r.running:
		return Running, nil
	case r.size.impossible:
		return Infeasible, nil
	case !math.IsNaN(r.started):
		return Waiting, nil
	}
	if fits, err := s.fitsAlone(ctx, r); err != nil || fits {
		return Waiting, err
	}
	return Infeasible, nil
}

// Gangs are those that arrived, in the order of the stream.
func (r *Result) Gangs() func(yield func(*Gang) bool) {
	return func(yield func(*Gang) bool) {
		for i := range r.runs {
			if !yield(r.gang(i)) {
				return
			}
		}
	}
}

func (r *Result) gang(i int) *Gang {
	of := r.runs[i]
	gang := &Gang{
		Name: of.job.Name, Arrived: of.arrived, Started: known(of.started), Ended: known(of.ended), State: r.states[i],
		Nodes: map[string]int{}, Domains: of.domains, LeastDomains: of.least, Preemptions: of.preemptions,
		Moves: of.moves,
	}
	if of.nodes != nil {
		gang.Nodes = of.nodes
	}
	for _, at := range of.stood {
		gang.Nodes[r.terrain.names[at.node]] = int(at.pods)
	}
	return gang
}

// warn names the gangs that wait because of what they are, which no room would help.
func (r *Result) warn(to io.Writer) {
	more := -maxFaults
	for _, held := range r.runs {
		if !held.queued || held.held == nil {
			continue
		}
		if more++; more <= 0 {
			fmt.Fprintf(to, "warning: gang %s: %s\n", held.job.Name, held.held.Message)
		}
	}
	if more > 0 {
		fmt.Fprintf(to, "warning: %d more gangs cannot be planned as they are\n", more)
	}
}

func known(at float64) *float64 {
	if math.IsNaN(at) {
		return nil
	}
	return &at
}

// Capacity is what all nodes offer together.
func (r *Result) Capacity() map[string]float64 {
	capacity := map[string]float64{}
	for i, name := range r.names {
		capacity[name] = r.capacity[i]
	}
	return capacity
}

// Series has a sample for each moment at which anything happened, from the start.
func (r *Result) Series() func(yield func(*Sample) bool) {
	return func(yield func(*Sample) bool) {
		for i := range r.series {
			taken := &r.series[i]
			sample := &Sample{At: taken.at, Used: map[string]float64{}, Waiting: taken.waiting, Running: taken.running}
			for j, name := range r.names {
				sample.Used[name] = inUnits(name, taken.used[j])
			}
			if !yield(sample) {
				return
			}
		}
	}
}

// JSON writes the result as one object. It is made piece by piece: that of a long stream is larger than what it was
// made of.
func (r *Result) JSON(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprint(out, `{"gangs":[`)
	if err := list(out, r.Gangs()); err != nil {
		return err
	}
	capacity, err := json.Marshal(r.Capacity())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `],"capacity":%s,"series":[`, capacity)
	if err := list(out, r.Series()); err != nil {
		return err
	}
	rest, err := json.Marshal(struct {
		Idle    Idle    `json:"idle"`
		Metrics Metrics `json:"metrics"`
		Device  string  `json:"device"`
		Until   float64 `json:"until"`
	}{r.Idle, r.Metrics(), r.Device, r.Until})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "],%s\n", rest[1:])
	return out.Flush()
}

// Recording writes what happened moment by moment.
func (r *Result) Recording(w io.Writer) error {
	_, err := r.recorded.WriteTo(w)
	return err
}

func list[T any](out *bufio.Writer, items func(yield func(*T) bool)) error {
	separator := ""
	for item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s%s", separator, text); err != nil {
			return err
		}
		separator = ","
	}
	return nil
}

// Summary says in one line what became of the gangs.
func (r *Result) Summary() string {
	counts := map[string]int{}
	for _, state := range r.states {
		counts[state]++
	}
	var parts []string
	for _, state := range []string{Ended, Running, Waiting, Infeasible} {
		if counts[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
		}
	}
	if len(parts) == 0 {
		return "no gangs"
	}
	return strings.Join(parts, ", ")
}
