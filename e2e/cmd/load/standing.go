package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
)

// standingGang is the size of gangs that run already: a pod on each node of a rack.
const standingGang = nodesPerRack

// large measures our scheduler in a cluster in which so many pods run in gangs: how long it takes from its start, and
// from the end of the leader, until a gang that came meanwhile is bound.
func (b *bench) large(ctx context.Context) error {
	if err := b.stand(ctx); err != nil {
		return err
	}
	// The first run writes the status of each gang, which those after it find.
	if err := b.Machine.Start(ctx, ours.program); err != nil {
		return err
	}
	if err := b.quiet(ctx, ours.program); err != nil {
		return err
	}
	if err := b.Machine.Stop(ctx, ours.program); err != nil {
		return err
	}
	second := ours
	second.program += "-2"
	start := func() error { return b.Machine.Start(ctx, ours.program) }
	if err := b.takesOver(ctx, ours, "start", start); err != nil {
		return err
	}
	for figure, read := range map[string]int{"MiB": b.Machine.PID(ours.program),
		"API server's MiB": b.Machine.PID("kube-apiserver")} {
		resident, err := residentOf(read)
		if err != nil {
			return err
		}
		b.note("start", figure, resident)
	}
	if err := b.Machine.Double(ctx, ours.program, second.program); err != nil {
		return err
	}
	if err := b.quiet(ctx, second.program); err != nil {
		return err
	}
	stop := func() error { return b.Machine.Stop(ctx, ours.program) }
	if err := b.takesOver(ctx, second, "leader stops", stop); err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	if err := b.quiet(ctx, ours.program); err != nil {
		return err
	}
	kill := func() error { return b.Machine.Kill(second.program) }
	if err := b.takesOver(ctx, ours, "leader is killed", kill); err != nil {
		return err
	}
	return b.Machine.Stop(ctx, ours.program)
}

// stand creates gangs of pods that have nodes, each gang in one rack.
func (b *bench) stand(ctx context.Context) error {
	groups, pods := gangs(standingGang, b.Standing).objects("standing", ours)
	perZone := (b.Nodes + zones - 1) / zones
	for i, pod := range pods {
		rack := i / standingGang % (zones * (perZone / nodesPerRack))
		node := rack%zones*perZone + rack/zones*nodesPerRack + i%standingGang
		pod.Spec.NodeName = nodeName(node)
	}
	if err := b.submit(ctx, groups, pods); err != nil {
		return err
	}
	b.say("%d pods run in %d gangs", len(pods), len(groups))
	return b.quiet(ctx, "kube-apiserver")
}

// takesOver measures the time from a change until a scheduler has bound a gang that came with it.
func (b *bench) takesOver(ctx context.Context, by scheduler, scenario string, change func() error) error {
	b.made++
	name, w := fmt.Sprintf("w%03d", b.made), gangs(4, 4)
	groups, pods := w.objects(name, by)
	began := time.Now()
	var changing errgroup.Group
	changing.Go(change)
	if err := createAll(ctx, b, groups); err != nil {
		return err
	}
	if err := changing.Wait(); err != nil {
		return err
	}
	// A leader that ends might bind earlier ones.
	if err := createAll(ctx, b, pods); err != nil {
		return err
	}
	last, err := b.bound(ctx, by, name, w.pods)
	if err != nil {
		return err
	}
	b.note(scenario, "s until bound", last.Sub(began).Seconds())
	return nil
}

// note reports a figure of our scheduler in the large cluster.
func (b *bench) note(scenario, figure string, value float64) {
	b.measured(ours, fmt.Sprintf("%s beside %d pods", scenario, b.Standing), figure, value)
}

// residentOf is how many MiB of memory a process has.
func residentOf(pid int) (float64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := process.Stat()
	return float64(stat.ResidentMemory()) / (1 << 20), err
}
