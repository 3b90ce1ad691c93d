package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// bindings is how many pods a scheduler binds before its memory is read.
	bindings = 512
	// looks is how often it is read, once a second.
	looks = 10
)

// fill puts gangs on all nodes evenly, without a scheduler, unless it has done so before.
func (b *schedulersBench) fill(ctx context.Context) error {
	if b.report.Running > 0 {
		return nil
	}
	b.report.Running = b.options.Running
	b.say("creating %d running pods", b.options.Running)
	groups, pods := gangs(4, b.options.Running).objects(b.next(), ours.takes)
	for i, pod := range pods {
		// Four pods of a gang are on one node, and the next gang on the next node.
		pod.Spec.NodeName = nodeName(i / 4 % b.options.Nodes)
	}
	if err := createAll(ctx, b.bench, groups); err != nil {
		return err
	}
	if err := createAll(ctx, b.bench, pods); err != nil {
		return err
	}
	return b.until(ctx, "the pods run", func(ctx context.Context) (bool, string, error) {
		var list corev1.PodList
		if err := b.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, "", err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == len(pods), fmt.Sprintf("%d of %d run", running, len(pods)), nil
	})
}

// memory measures the schedulers in turn beside the running pods.
func (b *schedulersBench) memory(ctx context.Context) error {
	if err := b.fill(ctx); err != nil {
		return err
	}
	for range b.options.Repeats {
		for _, s := range both {
			if err := b.take(ctx, s, b.resident); err != nil {
				return fmt.Errorf("memory of %s: %w", s.program, err)
			}
		}
	}
	return nil
}

// resident reads the memory of a scheduler after it has bound some hundred pods: the median of some seconds at rest,
// and the maximum.
func (b *schedulersBench) resident(ctx context.Context, t *turn) error {
	w := plain(bindings)
	if t.scheduler == ours {
		w = gangs(bindings/8, bindings)
	}
	name := b.next()
	bound, err := b.place(ctx, name, w, t.scheduler)
	if err != nil {
		return err
	}
	if _, err := bound(ctx); err != nil {
		return err
	}
	var seen []float64
	var used usage
	for range looks {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if used, err = usageOf(t.pid); err != nil {
			return err
		}
		seen = append(seen, used.resident)
	}
	scenario := fmt.Sprintf("beside %d running pods", b.options.Running)
	t.add(scenario, "MiB resident", median(seen))
	t.add(scenario, "MiB at the most", used.most)
	return b.clear(ctx, name)
}
