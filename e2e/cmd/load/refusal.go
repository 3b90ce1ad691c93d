package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Names of our scheduler's metrics.
const (
	decisionSeconds = "packtree_scheduler_decision_duration_seconds"
	decisions       = "packtree_scheduler_decisions_total"
)

const (
	// hopeless is a gang of ten groups, each of which needs more than a rack has left beside the running pods: half of
	// each node.
	hopeless = 1000
	// drops is the number of changes that make no room.
	drops = 1000
)

func (b *schedulersBench) refusals(ctx context.Context) error {
	if err := b.fill(ctx); err != nil {
		return err
	}
	return b.take(ctx, ours, func(ctx context.Context, t *turn) error {
		for range b.options.Repeats {
			if err := t.refuse(ctx); err != nil {
				return fmt.Errorf("a gang that cannot fit: %w", err)
			}
		}
		return nil
	})
}

// refuse creates a gang that cannot fit, and then changes that cannot help it.
func (t *turn) refuse(ctx context.Context) error {
	before, err := t.metrics(ctx)
	if err != nil {
		return err
	}
	name := t.next()
	groups, pods := gangs(hopeless, hopeless).objects(name, t.takes)
	if err := createAll(ctx, t.bench, groups); err != nil {
		return err
	}
	if err := createAll(ctx, t.bench, pods); err != nil {
		return err
	}
	if err := t.until(ctx, "the gang's PodGroup says that it cannot fit", t.saysInfeasible(groups[0])); err != nil {
		return err
	}
	decided, err := t.metrics(ctx)
	if err != nil {
		return err
	}
	counted := func(name model.LabelValue, labels model.LabelSet) float64 {
		return decided.sum(name, labels) - before.sum(name, labels)
	}
	infeasible := model.LabelSet{"verdict": "Infeasible"}
	scenario := fmt.Sprintf("a gang of %d that cannot fit", hopeless)
	t.add(scenario, "ms for a decision",
		1000*counted(decisionSeconds+"_sum", infeasible)/counted(decisionSeconds+"_count", infeasible))
	t.add(scenario, "decisions until its PodGroup says so", counted(decisions, nil))
	if err := t.rain(ctx, decided); err != nil {
		return err
	}
	return t.clear(ctx, name)
}

func (t *turn) saysInfeasible(group *scheduling.PodGroup) live.Look {
	return func(ctx context.Context) (bool, string, error) {
		if err := t.Get(ctx, client.ObjectKeyFromObject(group), group); err != nil {
			return false, "", err
		}
		condition := meta.FindStatusCondition(group.Status.Conditions, scheduling.ConditionScheduled)
		if condition == nil {
			return false, "it says nothing", nil
		}
		return condition.Reason == scheduling.ReasonInfeasible, condition.Reason + ": " + condition.Message, nil
	}
}

// rain changes nodes in ways that make no room: a kubelet's annotation.
func (t *turn) rain(ctx context.Context, before metrics) error {
	began := time.Now()
	computed, err := usageOf(t.pid)
	if err != nil {
		return err
	}
	numbers := make([]int, drops)
	for i := range numbers {
		numbers[i] = i
	}
	err = parallel(ctx, numbers, func(ctx context.Context, i int) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i % t.options.Nodes)}}
		return t.merge(ctx, node, `{"metadata":{"annotations":{"load.packtree.dev/seen":"%d"}}}`, i)
	})
	if err != nil {
		return err
	}
	// The last write has arrived when the scheduler acts on a later one.
	name := t.next()
	bound, err := t.place(ctx, name, plain(1), ours)
	if err != nil {
		return err
	}
	if _, err := bound(ctx); err != nil {
		return err
	}
	after, err := t.metrics(ctx)
	if err != nil {
		return err
	}
	used, err := usageOf(t.pid)
	if err != nil {
		return err
	}
	scenario := fmt.Sprintf("%d changes of nodes that cannot help", drops)
	t.add(scenario, "decisions", after.sum(decisions, nil)-before.sum(decisions, nil))
	t.add(scenario, "CPU s", used.cpu-computed.cpu)
	t.add(scenario, "s", time.Since(began).Seconds())
	return nil
}
