package simulate

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/turns"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var logger = klog.Background()

// Result is what became of a stream, as it is printed as JSON. Times are seconds from the start.
type Result struct {
	Gangs []Gang `json:"gangs"`
	// Capacity is what all nodes offer together.
	Capacity map[string]float64 `json:"capacity"`
	Series   []Sample           `json:"series"`
	// Idle is in resource-seconds of Device.
	Idle   Idle   `json:"idle"`
	Device string `json:"device"`
	// Until is when the simulation ended.
	Until float64 `json:"until"`
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

func (s *simulator) result(ctx context.Context) (*Result, error) {
	result := &Result{
		Gangs: []Gang{}, Capacity: s.account.capacity, Series: s.account.series, Idle: s.account.idle, Device: s.account.device, Until: s.now,
	}
	for _, r := range s.runs {
		state, err := s.state(ctx, r)
		if err != nil {
			return nil, err
		}
		result.Gangs = append(result.Gangs, Gang{
			Name: r.job.Name, Arrived: r.arrived, Started: told(r.started), Ended: told(r.ended), State: state,
			Nodes: r.nodes, Domains: r.domains, LeastDomains: r.size.least, Preemptions: r.preemptions, Moves: r.moves,
		})
	}
	return result, nil
}

func told(at float64) *float64 {
	if math.IsNaN(at) {
		return nil
	}
	return &at
}

func (s *simulator) state(ctx context.Context, r *run) (string, error) {
	switch {
	case !math.IsNaN(r.ended):
		return "Ended", nil
	case r.running:
		return "Running", nil
	case !math.IsNaN(r.started):
		return "Waiting", nil
	}
	fits, err := s.fitsAlone(ctx, r)
	if err != nil || fits {
		return "Waiting", err
	}
	return scheduling.ReasonInfeasible, nil
}

// fitsAlone decides a gang on the cluster as it was when the stream began, for all that is known without it.
func (s *simulator) fitsAlone(ctx context.Context, r *run) (bool, error) {
	alone := *s.cluster
	alone.PodGroups = append(slices.Clone(s.cluster.PodGroups), r.job.PodGroup)
	alone.Pods = append(inventory.Standing(s.cluster.Pods), r.job.Pods...)
	table, err := turns.Set(ctx, &alone)
	if err != nil {
		return false, err
	}
	for _, turn := range turns.In(&alone) {
		if turn.Rank.Gang != r.key() {
			continue
		}
		var answer *decision.Answer
		if answer, err = table.Decide(ctx, turn, 0); err != nil {
			return false, err
		}
		return answer.Verdict != scheduling.ReasonInfeasible && answer.Verdict != scheduling.ReasonInvalid, nil
	}
	return true, nil
}

// CSV writes a line per gang, with a heading.
func (r *Result) CSV(w io.Writer) error {
	var levels []string
	for _, gang := range r.Gangs {
		levels = append(levels, slices.Collect(maps.Keys(gang.LeastDomains))...)
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	heading := []string{"name", "arrived", "started", "ended", "state", "pods", "nodes", "preemptions", "moves"}
	for _, level := range levels {
		heading = append(heading, "domains "+level, "leastDomains "+level)
	}
	out := csv.NewWriter(w)
	rows := [][]string{heading}
	for _, gang := range r.Gangs {
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
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
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

// Summary says in one line what became of the gangs.
func (r *Result) Summary() string {
	states := map[string]int{}
	for _, gang := range r.Gangs {
		states[gang.State]++
	}
	var parts []string
	for _, state := range []string{"Ended", "Running", "Waiting", "Infeasible"} {
		if states[state] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", states[state], state))
		}
	}
	return strings.Join(parts, ", ")
}
