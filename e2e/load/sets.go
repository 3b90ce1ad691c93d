package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"packtree.dev/e2e/devcluster"
)

// SetsPart is one of the measurements of grove-operator.
type SetsPart string

const (
	// Scale is a large set created, scaled to zero and back.
	Scale SetsPart = "scale"
	// Steady is a large set that nothing happens to.
	Steady SetsPart = "steady"
	// Restart is a start of the operator beside many pods.
	Restart SetsPart = "restart"
	// Many is how long reconciles take while many small sets are created at once.
	Many SetsPart = "many"
	// Life is how long they take when these sets stand and one of them changes each second.
	Life SetsPart = "life"
	// Topologies is how changes of ClusterTopologies are answered, and how they reach many sets.
	Topologies SetsPart = "topologies"
)

// SetsParts are all parts in their order.
var SetsParts = []SetsPart{Scale, Steady, Restart, Many, Life, Topologies}

// SetsOptions choose what is measured of grove-operator.
type SetsOptions struct {
	// Dir is the state directory of the dev cluster that is brought up, and taken down in the end.
	Dir string
	// Parts are what to measure.
	Parts []SetsPart
	// Replicas is how many replicas, of two pods each, the large set has.
	Replicas int
	// Quiet is how long the part steady looks.
	Quiet time.Duration
	// Pods is how many pods of sets, and Foreign how many of nobody's, there are at the restart.
	Pods, Foreign int
	// Sets is how many small sets there are, of six pods each.
	Sets int
	// Changes is how many changes of small sets there are, one a second. It is rounded up to whole rounds.
	Changes int
	// Users is how many sets, of one pod each, use one ClusterTopology.
	Users int
	// QPS and Burst are the operator's runtimeClientConnection; 0 leaves both at their defaults.
	QPS, Burst int
	// Syncs is the operator's concurrentSyncs of every controller; 0 leaves it at its default.
	Syncs int
	// Program is the operator's binary; bin/grove-operator if empty.
	Program string
	// Profile, unless empty, is a directory that receives a CPU profile of the operator for each step.
	Profile string
	// Patience bounds each wait.
	Patience time.Duration
	// Progress is told what happens.
	Progress io.Writer
}

const (
	groveOperator  = "grove-operator"
	dynamoOperator = "dynamo-operator"
)

// MeasureSets brings a dev cluster up that has grove-operator and no scheduler, measures, and takes it down again.
func MeasureSets(ctx context.Context, o SetsOptions) (report *SetsReport, err error) {
	var ports [2]int
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	report = &SetsReport{Machine: machine(), Date: time.Now().Format(time.DateOnly)}
	return report, onCluster(ctx, o.cluster(ports[0], ports[1]), o.Patience, func(ctx context.Context, b *bench) error {
		sets := &setsBench{observed: &observed{
			bench: b, measured: watched{program: groveOperator, metrics: local(ports[1]) + "/metrics"}, pprof: local(ports[0]), profiles: o.Profile,
		}, options: o}
		if err := sets.prepare(ctx); err != nil {
			return err
		}
		return sets.measure(ctx, report)
	})
}

// onCluster brings a dev cluster up, does something on it, and takes it down again.
func onCluster(ctx context.Context, options devcluster.Options, patience time.Duration, do func(context.Context, *bench) error) (err error) {
	cluster, err := devcluster.Up(ctx, options)
	if err != nil {
		return err
	}
	defer func() {
		_, left := devcluster.Down(context.WithoutCancel(ctx), cluster.Dir)
		err = errors.Join(err, left)
	}()
	b, err := connect(cluster, Options{Patience: patience, Progress: options.Progress})
	if err != nil {
		return err
	}
	// Nobody watches any more when the cluster goes.
	working, stop := context.WithCancel(ctx)
	defer stop()
	return do(working, b)
}

func local(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// metricsAt are values of an operator's chart.
func metricsAt(port int) map[string]any {
	return map[string]any{"metrics": map[string]any{"bindAddress": "127.0.0.1", "port": port}}
}

func (o SetsOptions) cluster(pprof, metrics int) devcluster.Options {
	values := metricsAt(metrics)
	values["extraArgs"] = []any{fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", pprof)}
	config := map[string]any{}
	if o.QPS > 0 {
		config["runtimeClientConnection"] = map[string]any{"qps": o.QPS, "burst": o.Burst}
	}
	if o.Syncs > 0 {
		controllers := map[string]any{}
		for _, controller := range []string{"podCliqueSet", "podClique", "podCliqueScalingGroup", "podGang"} {
			controllers[controller] = map[string]any{"concurrentSyncs": o.Syncs}
		}
		config["controllers"] = controllers
	}
	values["config"] = config
	options := devcluster.Options{
		Dir: o.Dir, Nodes: nodes(1), Heartbeat: heartbeat, Components: []string{groveOperator}, Progress: o.Progress,
		Values: map[string]map[string]any{groveOperator: values},
	}
	if o.Program != "" {
		options.Programs = map[string]string{groveOperator: o.Program}
	}
	return options
}

func (b *setsBench) measure(ctx context.Context, report *SetsReport) error {
	for _, part := range []struct {
		name SetsPart
		run  func(context.Context, *SetsReport) error
	}{{Scale, b.scale}, {Steady, b.steady}, {Restart, b.restart}, {Many, b.many}, {Life, b.life}, {Topologies, b.topologies}} {
		if !slices.Contains(b.options.Parts, part.name) {
			continue
		}
		if err := part.run(ctx, report); err != nil {
			return fmt.Errorf("part %s: %w", part.name, err)
		}
	}
	return nil
}
