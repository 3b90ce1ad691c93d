package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/e2e/devcluster"
)

// schedulersBench is the cluster for measurements of schedulers.
type schedulersBench struct {
	*bench
	options options
	report  *schedulersReport
	// made counts the workloads, so that each has its own name.
	made int
}

// measure brings a dev cluster up, runs the measurements of the options, and takes it down again.
func measure(ctx context.Context, o options) (report *schedulersReport, err error) {
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
	b := &schedulersBench{options: o, report: &schedulersReport{
		Machine: machine(), Date: time.Now().Format(time.DateOnly), Nodes: o.Nodes, QPS: o.QPS,
		FlowControl: o.FlowControl, Kubelets: o.Kubelets,
	}}
	if b.bench, err = connect(cluster, o.common); err != nil {
		return nil, err
	}
	if err := errors.Join(b.Create(ctx, topology()), b.makeNamespace(ctx)); err != nil {
		return nil, err
	}
	err = b.takeParts(ctx, part{"throughput", b.withoutKubelets(b.throughput)},
		part{"start", b.withoutKubelets(b.starts)}, part{"memory", b.memory}, part{"refusal", b.refusals})
	if err != nil {
		return nil, err
	}
	counted, err := b.apiServerMetrics(ctx)
	b.report.APIServer = flows(counted)
	return b.report, err
}

// withoutKubelets has KWOK stopped meanwhile, unless the options want it: its writes about pods that are bound would
// share the processors with the scheduler that binds the others.
func (b *schedulersBench) withoutKubelets(measure func(context.Context) error) func(context.Context) error {
	if b.options.Kubelets {
		return measure
	}
	return func(ctx context.Context) (err error) {
		const kubelets = "kwok"
		if err := b.machine.Stop(ctx, kubelets); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.machine.Start(ctx, kubelets)) }()
		return measure(ctx)
	}
}

// next returns a new name for a workload.
func (b *schedulersBench) next() string {
	b.made++
	return fmt.Sprintf("w%03d", b.made)
}

// place creates a workload and returns a function that waits until it is bound, and returns the moment of the last
// binding.
func (b *schedulersBench) place(
	ctx context.Context, name string, w workload, by scheduler,
) (bound func(context.Context) (time.Time, error), err error) {
	groups, pods := w.objects(name, by.takes)
	// Pods that do not match yet enter the watch with the event of their binding, and no other pod is sent.
	placed := &counter{
		labels: runLabel + "=" + name, fields: "spec.nodeName!=", done: func(metav1.Object) bool { return true },
	}
	watching, stop := context.WithCancel(ctx)
	err = errors.Join(placed.watchPods(watching, b.core.CoreV1().RESTClient()), createAll(ctx, b.bench, groups))
	if err == nil {
		err = createAll(ctx, b.bench, pods)
	}
	return func(ctx context.Context) (time.Time, error) {
		defer stop()
		return b.become(ctx, placed, len(pods))
	}, err
}
