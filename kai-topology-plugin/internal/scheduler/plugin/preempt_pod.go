package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"

	gangpreemption "packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// preemptForPlain is kube-scheduler's own preemption for a pod without a gang, with one more rule for victims: no gang
// is left below its minimum.
type preemptForPlain struct {
	plugin   *Plugin
	standard *defaultpreemption.DefaultPreemption
	// enabled reports whether the profile has preemption at all.
	enabled func() bool
}

func newPreemptForPlain(ctx context.Context, plugin *Plugin, filters kubeframework.Filters) (*preemptForPlain, error) {
	standard, err := kubeframework.NewPreemption(ctx, plugin.handle)
	if err != nil {
		return nil, fmt.Errorf("preparing preemption for pods without a gang: %w", err)
	}
	enabled := sync.OnceValue(func() bool { return kubeframework.Preempts(filters) })
	return &preemptForPlain{plugin: plugin, standard: standard, enabled: enabled}, nil
}

// postFilter does what kube-scheduler's own plugin would do after us, and keeps that from being asked.
func (p *preemptForPlain) postFilter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	if !p.enabled() || pod.Spec.SchedulingGroup != nil {
		// Pods in groups of kube-scheduler's own are left to it.
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	metrics.PreemptionAttempts.Inc()
	attempt := &attempt{DefaultPreemption: *p.standard, plugin: p.plugin}
	attempt.gangs.PodGroups, attempt.gangs.Members = p.plugin.lister.PodGroup, p.plugin.lister.PodsOf
	attempt.IsEligiblePod = attempt.eligible
	evaluator := preemption.NewEvaluator(Name, p.plugin.handle, attempt, p.standard.Executor)
	result, status := evaluator.Preempt(ctx, state, pod, statuses)
	message := "preemption: " + status.Message()
	switch {
	case status.IsSuccess():
		return result, status
	case status.IsRejected():
		return result, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
	default:
		return result, fwk.NewStatus(status.Code(), message)
	}
}

// running reports whether victims of the pod are still being deleted. Until all are, it need not try again.
func (p *preemptForPlain) running(pod *corev1.Pod) bool {
	return p.standard.Executor.IsPodRunningPreemption(pod.UID)
}

// attempt is one preemption for a pod without a gang.
type attempt struct {
	defaultpreemption.DefaultPreemption
	plugin *Plugin
	// gangs are those met so far. Nodes are looked at in parallel.
	gangs gangpreemption.Standing
}

// eligible is asked about pods of lower priority. Of a gang all have to be, and it must be preemptible.
func (a *attempt) eligible(_ fwk.NodeInfo, victim fwk.PodInfo, preemptor *corev1.Pod) bool {
	return a.gangs.MayLeave(victim.GetPod(), kubeframework.Priority(preemptor))
}

// SelectVictimsOnNode adds, to the victims that kube-scheduler finds on a node, the pods on any node that are of no
// use to their gang without them.
func (a *attempt) SelectVictimsOnNode(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo, pdbs []*policyv1.PodDisruptionBudget,
) ([]*corev1.Pod, int, *fwk.Status) {
	victims, violating, status := a.DefaultPreemption.SelectVictimsOnNode(ctx, state, pod, node, pdbs)
	if !status.IsSuccess() {
		return victims, violating, status
	}
	more, err := a.gangs.Companions(victims)
	if err != nil {
		return nil, 0, fwk.AsStatus(err)
	}
	if len(more) == 0 {
		return victims, violating, status
	}
	budgets, err := budgetsOf(a.plugin.pdbs)
	if err != nil {
		return nil, 0, fwk.AsStatus(err)
	}
	victims = append(victims, more...)
	// kube-scheduler reads the priority of the most important victim off the first one.
	slices.SortStableFunc(victims, func(a, b *corev1.Pod) int {
		switch {
		case schedulerutil.MoreImportantPod(a, b):
			return -1
		case schedulerutil.MoreImportantPod(b, a):
			return 1
		default:
			return 0
		}
	})
	return victims, budgets.Violations(victims), status
}
