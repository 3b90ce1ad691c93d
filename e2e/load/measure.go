package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"packtree.dev/e2e/devcluster"
)

// Measure brings a dev cluster up, measures what the options say, and takes it down again.
func Measure(ctx context.Context, o Options) (report *Report, err error) {
	if err := buildReference(ctx, o); err != nil {
		return nil, err
	}
	cluster, err := up(ctx, o)
	if cluster != nil {
		defer func() {
			_, left := devcluster.Down(context.WithoutCancel(ctx), cluster.Dir)
			err = errors.Join(err, left)
		}()
	}
	if err != nil {
		return nil, err
	}
	b, err := connect(cluster, o)
	if err != nil {
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	report = &Report{
		Machine: machine(), Date: time.Now().Format(time.DateOnly), Nodes: o.Nodes, QPS: o.QPS, FlowControl: o.FlowControl,
	}
	if err := b.measure(ctx, report); err != nil {
		return nil, err
	}
	report.APIServer, err = b.flows(ctx)
	return report, err
}

func (b *bench) measure(ctx context.Context, report *Report) (err error) {
	if b.wants(Throughput) {
		if report.Throughput, err = b.throughput(ctx); err != nil {
			return err
		}
	}
	if b.wants(Start) {
		starts, err := b.starts(ctx)
		if err != nil {
			return err
		}
		report.Start = &starts
	}
	if !b.wants(Memory) && !b.wants(Refusal) {
		return nil
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	report.Running = b.Running
	if b.wants(Memory) {
		if report.Memory, err = b.memory(ctx); err != nil {
			return err
		}
	}
	if b.wants(Refusal) {
		refused, err := b.refusals(ctx)
		if err != nil {
			return err
		}
		report.Refusal = &refused
	}
	return nil
}

func (b *bench) wants(part Part) bool { return slices.Contains(b.Parts, part) }

// machine names the processor and how many of it there are.
func machine() string {
	model := runtime.GOARCH
	if file, err := os.Open("/proc/cpuinfo"); err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if name, found := strings.CutPrefix(lines.Text(), "model name"); found {
				model = strings.TrimLeft(name, "\t :")
				break
			}
		}
	}
	return fmt.Sprintf("%d x %s", runtime.NumCPU(), model)
}
