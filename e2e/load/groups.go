package load

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"packtree.dev/e2e/devcluster"
)

// GroupsPart is one of the measurements of podgrouper.
type GroupsPart string

const (
	// Job is a large Job: how soon its pods are grouped.
	Job GroupsPart = "job"
	// Quiet is what is written while nothing happens.
	Quiet GroupsPart = "quiet"
	// Beside is the program's memory beside many pods, and what it writes when it starts anew.
	Beside GroupsPart = "beside"
)

// GroupsParts are all parts in their order.
var GroupsParts = []GroupsPart{Job, Quiet, Beside}

// GroupsOptions choose what is measured of podgrouper.
type GroupsOptions struct {
	// Dir is the state directory of the dev cluster that is brought up, and taken down in the end.
	Dir string
	// Parts are what to measure.
	Parts []GroupsPart
	// Pods is how many pods the Job runs.
	Pods int
	// Repeats is how often a Job is created.
	Repeats int
	// Quiet is how long the part quiet looks.
	Quiet time.Duration
	// Standing is how many pods there are in the part beside, in Jobs of OfJob.
	Standing, OfJob int
	// Program is the podgrouper's binary; bin/podgrouper if empty.
	Program string
	// Profile, unless empty, is a directory that receives profiles of podgrouper.
	Profile string
	// Patience bounds each wait.
	Patience time.Duration
	// Progress is told what happens.
	Progress io.Writer
}

const grouper = "podgrouper"

// MeasureGroups brings a dev cluster up that has podgrouper and no scheduler, measures, and takes it down again.
func MeasureGroups(ctx context.Context, o GroupsOptions) (report *GroupsReport, err error) {
	var ports [2]int
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	report = &GroupsReport{Machine: machine(), Date: time.Now().Format(time.DateOnly)}
	return report, onCluster(ctx, o.cluster(ports[0], ports[1]), o.Patience, func(ctx context.Context, b *bench) error {
		groups := &groupsBench{observed: &observed{
			bench: b, measured: watched{program: grouper, metrics: local(ports[1]) + "/metrics"}, pprof: local(ports[0]), profiles: o.Profile,
		}, options: o}
		if err := groups.prepare(ctx); err != nil {
			return err
		}
		return groups.measure(ctx, report)
	})
}

func (o GroupsOptions) cluster(pprof, metrics int) devcluster.Options {
	values := metricsAt(metrics)
	values["extraArgs"] = []any{fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", pprof)}
	options := devcluster.Options{
		Dir: o.Dir, Nodes: nodes(1), Heartbeat: heartbeat, Components: []string{grouper}, Progress: o.Progress,
		Values: map[string]map[string]any{grouper: values},
	}
	if o.Program != "" {
		options.Programs = map[string]string{grouper: o.Program}
	}
	return options
}

func (b *groupsBench) measure(ctx context.Context, report *GroupsReport) error {
	for _, part := range []struct {
		name GroupsPart
		run  func(context.Context, *GroupsReport) error
	}{{Job, b.job}, {Quiet, b.quietly}, {Beside, b.beside}} {
		if !slices.Contains(b.options.Parts, part.name) {
			continue
		}
		if err := part.run(ctx, report); err != nil {
			return fmt.Errorf("part %s: %w", part.name, err)
		}
	}
	return nil
}
