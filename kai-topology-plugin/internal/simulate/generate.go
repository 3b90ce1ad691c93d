package simulate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// Load says what a stream is to be like that is drawn.
type Load struct {
	// Seconds is how long gangs arrive, and Share how much of the cluster they ask for in the mean: 0.9 is 90 %.
	Seconds, Share float64
	// Sizes has the weight of each number of pods, and Duration the mean seconds that a gang runs, drawn exponentially.
	Sizes    map[int32]float64
	Duration float64
	// Diurnal is how far the arrivals swing around their mean within a day, from 0 to 1.
	Diurnal float64
	// Requests are those of each pod.
	Requests map[string]string
	Seed     uint64
	constrained
}

// constrained is the topology constraint of gangs of at least two pods.
type constrained struct{ Topology, Required, Preferred string }

func (c *constrained) bind(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&c.Topology, "topology", "", "the Topology of gangs of two pods or more")
	flags.StringVar(&c.Required, "required", "", "the level of which they need one domain")
	flags.StringVar(&c.Preferred, "preferred", "", "the level of which they want as few domains as possible")
}

// check returns which flag is missing.
func (c *constrained) check() error {
	if c.Topology == "" && c.Required+c.Preferred != "" {
		return errors.New("--topology is missing: a level needs the name of the Topology that it belongs to")
	}
	return nil
}

// constrain adds the constraint to a line.
func (c *constrained) constrain(line *drawnLine) {
	if line.Pods > 1 {
		line.Topology, line.Required, line.Preferred = c.Topology, c.Required, c.Preferred
	}
}

// drawnLine is a line as it is drawn, or imported.
type drawnLine struct {
	At        float64           `json:"at"`
	Name      string            `json:"name"`
	Duration  *float64          `json:"duration,omitempty"`
	Pods      int32             `json:"pods"`
	Requests  map[string]string `json:"requests"`
	Topology  string            `json:"topology,omitempty"`
	Required  string            `json:"required,omitempty"`
	Preferred string            `json:"preferred,omitempty"`
}

// Write draws a stream for a cluster. Gangs arrive independently of each other.
func (l *Load) Write(w io.Writer, cluster *inventory.Inventory) error {
	capacity, err := l.capacity(cluster)
	if err != nil {
		return err
	}
	sizes := slices.Sorted(maps.Keys(l.Sizes))
	weights, pods := 0.0, 0.0
	for _, size := range sizes {
		weights += l.Sizes[size]
		pods += l.Sizes[size] * float64(size)
	}
	random := rand.New(rand.NewPCG(l.Seed, l.Seed)) //nolint:gosec // The same seed has to give the same stream.
	peak := capacity * l.Share / (pods / weights * l.Duration) * (1 + l.Diurnal)
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	const day = 86400
	for at, count := random.ExpFloat64()/peak, 1; at <= l.Seconds; at += random.ExpFloat64() / peak {
		if random.Float64()*(1+l.Diurnal) > 1+l.Diurnal*math.Sin(2*math.Pi*at/day) {
			continue // Thinned out: it is not the peak of the day.
		}
		duration := milli(random.ExpFloat64() * l.Duration)
		line := drawnLine{
			At: milli(at), Name: fmt.Sprintf("gang-%d", count), Duration: &duration, Requests: l.Requests,
			Pods: l.size(sizes, random.Float64()*weights),
		}
		l.constrain(&line)
		if err := lines.Encode(line); err != nil {
			return err
		}
		count++
	}
	return out.Flush()
}

// milli rounds seconds to thousandths.
func milli(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

func (l *Load) size(sizes []int32, drawn float64) int32 {
	for _, size := range sizes {
		if drawn -= l.Sizes[size]; drawn <= 0 {
			return size
		}
	}
	return sizes[len(sizes)-1]
}

// capacity is how many pods the cluster has room for, by the resource that is scarcest for them.
func (l *Load) capacity(cluster *inventory.Inventory) (pods float64, err error) {
	pods = math.Inf(1)
	for name, written := range l.Requests {
		each, err := resource.ParseQuantity(written)
		if err != nil || each.Sign() <= 0 {
			return 0, fmt.Errorf("%s=%s is no amount", name, written)
		}
		offered := 0.0
		for _, node := range cluster.Nodes {
			amount := node.Status.Allocatable[corev1.ResourceName(name)]
			offered += amount.AsApproximateFloat64()
		}
		pods = min(pods, offered/each.AsApproximateFloat64())
	}
	if pods == 0 {
		return 0, fmt.Errorf("no node has all of %s", strings.Join(slices.Sorted(maps.Keys(l.Requests)), ", "))
	}
	return pods, nil
}

// generateCommand returns the subcommand `generate`, which draws a stream for a cluster.
func generateCommand(source Source) *cobra.Command {
	load := &Load{}
	var sizes map[string]string
	command := &cobra.Command{
		Use: strings.Replace(source.Use, "simulate", "generate", 1) +
			" --requests RESOURCE=AMOUNT --sizes PODS=WEIGHT[,…]",
		Short: "Draw a stream of gangs for a cluster",
		Long: `generate prints a stream for simulate: gangs that arrive independently of each other (Poisson), of sizes
drawn by their weights and durations drawn exponentially, so many that they ask for a share of the cluster in the mean.
With --diurnal arrivals swing within each day. The same flags and seed give the same bytes.`,
		Example: `  kai-topology-plugin simulate generate -f cluster.yaml --seconds 604800 --load 0.9 \
    --requests nvidia.com/gpu=8 --sizes 1=60,4=25,16=10,64=5 --duration 14400 \
    --topology net --required example.com/rack --seed 1 > week.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := load.check(sizes); err != nil {
				return command.FlagErrorFunc()(command, err)
			}
			cluster, err := source.Read(command)
			if err != nil {
				return err
			}
			if _, err := load.in(cluster); err != nil {
				return fmt.Errorf("--%w", err)
			}
			return load.Write(command.OutOrStdout(), cluster)
		},
	}
	source.Bind(command)
	flags := command.Flags()
	flags.Float64Var(&load.Seconds, "seconds", 86400, "how long gangs arrive")
	flags.Float64Var(&load.Share, "load", 0.9, "the share of the cluster that gangs ask for in the mean")
	flags.StringToStringVar(&sizes, "sizes", nil, "the weight of each number of pods, as in 1=60,8=30,64=10")
	flags.Float64Var(&load.Duration, "duration", 3600, "the mean seconds that a gang runs")
	flags.Float64Var(&load.Diurnal, "diurnal", 0, "how far arrivals swing around their mean within a day, from 0 to 1")
	flags.StringToStringVar(&load.Requests, "requests", nil, "what each pod asks for, as in nvidia.com/gpu=8")
	load.bind(command)
	flags.Uint64Var(&load.Seed, "seed", 0, "another seed draws another stream")
	return command
}

// check reads the sizes, and returns which flag is wrong.
func (l *Load) check(sizes map[string]string) error {
	l.Sizes = map[int32]float64{}
	for text, weight := range sizes {
		pods, err := strconv.ParseInt(text, 10, 32)
		times, wrong := strconv.ParseFloat(weight, 64)
		if err != nil || wrong != nil || pods < 1 || !(times > 0) || math.IsInf(times, 0) {
			return fmt.Errorf("--sizes: %s=%s is no number of pods and its weight", text, weight)
		}
		l.Sizes[int32(pods)] += times
	}
	positive := func(value float64) bool { return value > 0 && value <= maxSeconds }
	switch {
	case len(sizes) == 0:
		return errors.New("--sizes is missing, as in 1=60,8=30,64=10")
	case len(l.Requests) == 0:
		return errors.New("--requests is missing, as in nvidia.com/gpu=8")
	case !positive(l.Seconds):
		return fmt.Errorf("--seconds must be above 0 and at most %v, and is %v", maxSeconds, l.Seconds)
	case !positive(l.Share):
		return fmt.Errorf("--load must be above 0 and at most %v, and is %v", maxSeconds, l.Share)
	case !positive(l.Duration):
		return fmt.Errorf("--duration must be above 0 and at most %v, and is %v", maxSeconds, l.Duration)
	case !(l.Diurnal >= 0 && l.Diurnal <= 1):
		return fmt.Errorf("--diurnal must be from 0 to 1, and is %v", l.Diurnal)
	}
	return l.constrained.check()
}
