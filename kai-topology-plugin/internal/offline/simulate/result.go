package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

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
