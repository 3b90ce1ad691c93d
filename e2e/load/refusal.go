package load

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Names of what our scheduler counts.
const (
	decisionSeconds = "packtree_scheduler_decision_duration_seconds"
	decisions       = "packtree_scheduler_decisions_total"
	infeasible      = `verdict="Infeasible"`
)

// Refused is what a gang costs that cannot fit.
type Refused struct {
	// Gang is its number of pods, in groups that share a rack each, of which none has room left for one.
	Gang int `json:"gang"`
	// Milliseconds are the means of the decisions about a gang, one for each repeat.
	Milliseconds []float64 `json:"milliseconds"`
	// Decisions are how many decisions there were while the gang came and waited, one for each repeat.
	Decisions []int `json:"decisions"`
	// Events is how many changes of nodes and pods that could not help it came meanwhile, and LaterDecisions how many decisions.
	Events         []int `json:"events"`
	LaterDecisions []int `json:"laterDecisions"`
	// LaterCPUSeconds is what the scheduler computed meanwhile, and LaterSeconds how long that was.
	LaterCPUSeconds []float64 `json:"laterCPUSeconds"`
	LaterSeconds    []float64 `json:"laterSeconds"`
}

// hopeless is a gang of ten groups, each of which needs more than a rack has left beside the running pods: half of each node.
const hopeless = 1000

func (b *bench) refusals(ctx context.Context) (refused Refused, err error) {
	t, err := b.start(ctx, ours)
	if err != nil {
		return refused, err
	}
	defer func() { err = t.end(err) }()
	refused.Gang = hopeless
	for range b.Repeats {
		if err := t.refuse(ctx, &refused); err != nil {
			return refused, fmt.Errorf("a gang that cannot fit: %w", err)
		}
	}
	return refused, nil
}

// refuse has a gang come that cannot fit, and then things happen that cannot help it.
func (t *turn) refuse(ctx context.Context, refused *Refused) error {
	before, err := t.metrics(ctx)
	if err != nil {
		return err
	}
	groups, pods := gangs(hopeless, hopeless).objects(t.next(), t.takes)
	if err := t.create(ctx, groups, pods); err != nil {
		return err
	}
	if err := t.until(ctx, "the gang is told that it cannot fit", t.toldInfeasible(groups[0].Name)); err != nil {
		return err
	}
	decided, err := t.metrics(ctx)
	if err != nil {
		return err
	}
	count := decided.sum(decisionSeconds+"_count", infeasible) - before.sum(decisionSeconds+"_count", infeasible)
	took := decided.sum(decisionSeconds+"_sum", infeasible) - before.sum(decisionSeconds+"_sum", infeasible)
	refused.Milliseconds = append(refused.Milliseconds, 1000*took/count)
	refused.Decisions = append(refused.Decisions, int(decided.sum(decisions)-before.sum(decisions)))
	if err := t.rain(ctx, decided, refused); err != nil {
		return err
	}
	last := len(refused.Events) - 1
	t.say("a gang of %d that cannot fit: %.1f ms for a decision, %d of them; then %d events and %d decisions", hopeless,
		refused.Milliseconds[last], refused.Decisions[last], refused.Events[last], refused.LaterDecisions[last])
	return t.remove(ctx, groups, pods)
}

func (t *turn) toldInfeasible(name string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		group, err := t.kai.SchedulingV2alpha2().PodGroups(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		condition := meta.FindStatusCondition(group.Status.Conditions, scheduling.ConditionScheduled)
		if condition == nil {
			return false, "it is told nothing", nil
		}
		return condition.Reason == scheduling.ReasonInfeasible, condition.Reason + ": " + condition.Message, nil
	}
}

// rain has nodes and pods change in ways that make no room: a kubelet's annotation, a pod's label.
func (t *turn) rain(ctx context.Context, before metrics, refused *Refused) error {
	const drops = 1000
	began := time.Now()
	computed, err := cpuOf(t.pid)
	if err != nil {
		return err
	}
	numbers := make([]int, drops)
	for i := range numbers {
		numbers[i] = i
	}
	err = parallel(ctx, numbers, func(ctx context.Context, i int) error {
		return t.drop(ctx, i)
	})
	if err != nil {
		return fmt.Errorf("changing nodes and pods: %w", err)
	}
	// What was written last has arrived when the scheduler acts on something that was written later.
	if err := t.bindOne(ctx); err != nil {
		return err
	}
	after, err := t.metrics(ctx)
	if err != nil {
		return err
	}
	used, err := cpuOf(t.pid)
	refused.Events = append(refused.Events, drops)
	refused.LaterDecisions = append(refused.LaterDecisions, int(after.sum(decisions)-before.sum(decisions)))
	refused.LaterCPUSeconds = append(refused.LaterCPUSeconds, (used - computed).Seconds())
	refused.LaterSeconds = append(refused.LaterSeconds, time.Since(began).Seconds())
	return err
}

func (t *turn) drop(ctx context.Context, i int) error {
	node := fmt.Sprintf("node-%05d", i%t.Nodes)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"load.packtree.dev/seen":"%d"}}}`, i)
	if _, err := t.core.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	return nil
}

// bindOne has the scheduler place a pod without a gang, and takes it away again.
func (t *turn) bindOne(ctx context.Context) error {
	name := t.next()
	pod := podOf(name, name, t.takes)
	if err := t.create(ctx, nil, []*corev1.Pod{pod}); err != nil {
		return err
	}
	return t.until(ctx, "a pod without a gang is bound", func(ctx context.Context) (bool, string, error) {
		read, err := t.core.CoreV1().Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return read.Spec.NodeName != "", "it has no node", nil
	})
}

// remove deletes what a run has created, and leaves the rest.
func (b *bench) remove(ctx context.Context, groups []*scheduling.PodGroup, pods []*corev1.Pod) error {
	err := parallel(ctx, groups, func(ctx context.Context, group *scheduling.PodGroup) error {
		return b.kai.SchedulingV2alpha2().PodGroups(namespace).Delete(ctx, group.Name, metav1.DeleteOptions{})
	})
	if err != nil {
		return fmt.Errorf("deleting PodGroups: %w", err)
	}
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	err = parallel(ctx, pods, func(ctx context.Context, pod *corev1.Pod) error {
		err := b.core.CoreV1().Pods(namespace).Delete(ctx, pod.Name, now)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("deleting pods: %w", err)
	}
	return nil
}
