package podclique

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/topology"
)

// plan decides on pods. If there are too many it decides a second time, past the cache: which of them are deleted
// depends on all others, and the cache may not show yet what the last pass deleted, but already show that another pod
// is no longer ready. It does so, too, if it creates pods that Kueue counts: these have a new name each time, for Kueue
// knows the pods of a workload by their names, and takes one that comes under the name of another for that.
func (r *Reconciler) plan(ctx context.Context, scope *scope) (pods.Plan, error) {
	plan := pods.Decide(scope.podClique, scope.pods, "", r.Clock.Now())
	counted := len(plan.Create) > 0 && scope.set.Labels[kueue.LabelQueue] != ""
	if !plan.Surplus && !counted {
		return plan, nil
	}
	version, err := r.readPods(ctx, scope)
	if err != nil {
		return pods.Plan{}, fmt.Errorf("before some are deleted or created: %w", err)
	}
	if !counted {
		version = ""
	}
	return pods.Decide(scope.podClique, scope.pods, version, r.Clock.Now()), nil
}

// readPods reads the pods past the cache, and returns the version of what it has read.
func (r *Reconciler) readPods(ctx context.Context, scope *scope) (version string, err error) {
	live, err := r.listPods(ctx, scope)
	if err != nil {
		return "", err
	}
	scope.keep(live.Items)
	return live.ResourceVersion, nil
}

func (r *Reconciler) livePods(ctx context.Context, scope *scope) ([]corev1.Pod, error) {
	list, err := r.listPods(ctx, scope)
	return list.Items, err
}

func (r *Reconciler) listPods(ctx context.Context, scope *scope) (corev1.PodList, error) {
	var list corev1.PodList
	err := r.Writer.Live.List(ctx, &list, client.InNamespace(scope.podClique.Namespace),
		client.MatchingLabels{grovev1alpha1.LabelPodClique: scope.podClique.Name})
	if err != nil {
		return list, fmt.Errorf("listing pods: %w", err)
	}
	return list, nil
}

// scale creates and deletes pods by the plan.
func (r *Reconciler) scale(ctx context.Context, scope *scope, plan pods.Plan) error {
	additions, unread := r.withTemplate(ctx, scope, plan.Create)
	if unread == nil {
		additions, unread = r.affordable(ctx, scope, additions)
	}
	if len(additions)+len(plan.Delete) > 0 {
		log.FromContext(ctx).Info("scaling pods", "create", len(additions), "delete", len(plan.Delete))
	}
	err := r.retire(ctx, scope, plan.Overdue.Serving)
	if err != nil {
		return err // No replacement may share its hostname with a pod that is still among the endpoints.
	}
	err = errors.Join(unread, r.delete(ctx, plan.Delete), r.create(ctx, scope, additions))
	scope.happened.deleted = countIf(plan.Delete, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	return err
}

// unserve removes the label of a pod by which the Service of its replica selects it.
func unserve(pod *corev1.Pod) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{"uid":%q,"labels":{%q:null}}}`, pod.UID, grovev1alpha1.LabelPodCliqueSetReplicaIndex))
}

// retire takes pods that are overdue out of the Service of their replica.
func (r *Reconciler) retire(ctx context.Context, scope *scope, overdue []*corev1.Pod) error {
	err := passes.SlowStart(len(overdue), func(i int) error {
		err := r.Client.Patch(ctx, overdue[i].DeepCopy(), unserve(overdue[i]), r.Writer.FieldOwner)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("taking pod %s out of its Service: %w", overdue[i].Name, err)
		}
		return nil
	})
	if err == nil {
		scope.happened.overdue = len(overdue)
	}
	return err
}

// delete deletes pods and marks them as leaving, so that the status of this pass does not count them.
func (r *Reconciler) delete(ctx context.Context, surplus []*corev1.Pod) error {
	return passes.Each(len(surplus), func(i int) error {
		pod := surplus[i]
		if pod.DeletionTimestamp != nil {
			return nil
		}
		uid := pod.UID
		err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &uid})
		if err = client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
		}
		now := metav1.NewTime(r.Clock.Now())
		pod.DeletionTimestamp = &now
		return nil
	})
}

// create creates pods. They count at once: the status of this pass stays right when the cache has them.
func (r *Reconciler) create(ctx context.Context, scope *scope, additions []pods.Addition) error {
	gang, err := r.gang(ctx, scope, grovev1alpha1.LabelPodGang)
	if err != nil {
		return err
	}
	maker := pods.Maker{
		Set: scope.set, Member: scope.member, PodClique: scope.podClique,
		Topology:         topology.ForNewPods(topology.NameFor(scope.set), gang),
		DefaultScheduler: r.DefaultScheduler, Startup: r.Startup,
	}
	live := sync.OnceValues(func() ([]corev1.Pod, error) { return r.livePods(ctx, scope) })
	made := make([]*corev1.Pod, len(additions))
	err = passes.SlowStart(len(additions), func(i int) (err error) {
		made[i], err = r.make(ctx, scope, live, maker, additions[i])
		return err
	})
	for _, pod := range made {
		if pod != nil {
			scope.pods = append(scope.pods, pod)
			scope.made[pod.UID] = true
			scope.happened.created++
		}
	}
	return err
}

// make creates a pod. It returns nil if the pod exists and the cache does not have it yet, and if a pod has the name
// but left the PodClique, because a user took its label off to look at it in peace. Such a pod is left alone. Live
// are the pods of the PodClique past the cache.
func (r *Reconciler) make(
	ctx context.Context, scope *scope, live func() ([]corev1.Pod, error), maker pods.Maker, addition pods.Addition,
) (*corev1.Pod, error) {
	for taken := map[string]bool{}; ; addition.Name = pods.FreeName(scope.podClique, addition.Index, "", taken) {
		pod := maker.Make(addition.Name, addition.Index)
		if addition.Alone {
			pods.CountAlone(pod)
		}
		err := r.Client.Create(ctx, pod, r.Writer.FieldOwner)
		if err == nil {
			return pod, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating pod %d: %w", addition.Index, err)
		}
		existing, err := live()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(existing, func(other corev1.Pod) bool {
			index, numbered := layout.PodIndexOf(&other)
			fills := numbered && index == addition.Index && other.DeletionTimestamp == nil
			return lookup.Belongs(&other, scope.podClique) && (fills || other.Name == addition.Name)
		}) {
			return nil, nil
		}
		taken[addition.Name] = true
	}
}

// ungate removes the operator's gate from a pod, but not from another pod with the same name. A strategic merge by
// the gate's name leaves all other gates, also new ones.
func ungate(pod *corev1.Pod) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil,
		`{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"$patch":"delete","name":%q}]}}`, pod.UID,
		grovev1alpha1.SchedulingGatePodGangPending))
}

// relabel makes sure that one pod stands for others, also if an older operator made the pods.
func (r *Reconciler) relabel(ctx context.Context, scope *scope) error {
	changes := pods.RelabelStanding(scope.set, scope.member, scope.podClique, scope.pods)
	return passes.Each(len(changes), func(i int) error {
		change := changes[i]
		content, err := json.Marshal(
			map[string]any{"metadata": map[string]any{"uid": change.Pod.UID, "labels": change.Labels}})
		if err != nil {
			return err
		}
		err = r.Client.Patch(ctx, change.Pod.DeepCopy(), client.RawPatch(types.MergePatchType, content),
			r.Writer.FieldOwner)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("labelling pod %s: %w", change.Pod.Name, err)
		}
		return nil
	})
}

// openGates removes the gates of pods if their gang is ready for them, and records what the other pods wait for.
func (r *Reconciler) openGates(ctx context.Context, scope *scope) error {
	var gated, held []*corev1.Pod
	for _, pod := range scope.pods {
		if !pods.Active(pod) || len(pod.Spec.SchedulingGates) == 0 {
			continue
		}
		held = append(held, pod)
		// A gang may list a new pod already, by the name of an earlier one. Which topology is in force is looked up
		// again when the cache has the pod.
		if pods.Gated(pod) && !scope.made[pod.UID] {
			gated = append(gated, pod)
		}
	}
	if len(held) == 0 && scope.unaffordable == "" {
		return nil
	}
	gang, err := r.gang(ctx, scope, grovev1alpha1.LabelPodGang)
	if err != nil {
		return err
	}
	base, err := r.followed(ctx, scope, grovev1alpha1.LabelBasePodGang)
	if err != nil {
		return err
	}
	if gang != nil {
		err = errors.Join(r.recount(ctx, scope, held, gang), r.open(ctx, scope, slices.Clone(gated), gang, base))
		scope.happened.opened = countIf(gated, func(pod *corev1.Pod) bool { return !pods.Gated(pod) })
		scope.gang = gang
	}
	if scope.happened.opened == 0 {
		scope.statusDue = gangs.ListedUntil(held, gang, r.Clock.Now())
	}
	scope.gating = gangs.WhyGated(held, topology.NameFor(scope.set), scope.podClique.Labels[grovev1alpha1.LabelPodGang],
		gang, base)
	if scope.gating == "" && scope.unaffordable != "" {
		scope.gating = "pods that are made when gang " + scope.unaffordable + " has its minimum on nodes"
	}
	return err
}

// open removes the gate from every pod that may be scheduled.
func (r *Reconciler) open(
	ctx context.Context, scope *scope, gated []*corev1.Pod, gang *schedulerv1alpha1.PodGang, base *gangs.Base,
) error {
	openable, err := r.openable(ctx, scope, gated, gang, base)
	if err != nil {
		return err
	}
	return passes.Each(len(openable), func(i int) error {
		opened := openable[i].DeepCopy()
		err := r.Client.Patch(ctx, opened, ungate(openable[i]), r.Writer.FieldOwner)
		if client.IgnoreNotFound(err) != nil && !apply.Replaced(err) {
			return fmt.Errorf("opening the gate of pod %s: %w", openable[i].Name, err)
		}
		if err == nil {
			*openable[i] = *opened // The status of this pass counts it.
		}
		return nil
	})
}

// openable are the pods that may be scheduled. If the topology matters, the gang is read past the cache: it may have
// changed its topology twice since the cache saw it, and list the pod's name from the first time.
func (r *Reconciler) openable(
	ctx context.Context, scope *scope, gated []*corev1.Pod, gang *schedulerv1alpha1.PodGang, base *gangs.Base,
) ([]*corev1.Pod, error) {
	named := topology.NameFor(scope.set)
	mayOpen := func(pod *corev1.Pod) bool {
		return gangs.GateOpen(pod.Namespace, pod.Name, gang, base) && topology.MayOpenGate(pod, named, gang)
	}
	openable := slices.DeleteFunc(gated, func(pod *corev1.Pod) bool { return !mayOpen(pod) })
	if named == "" || len(openable) == 0 {
		return openable, nil
	}
	live := &schedulerv1alpha1.PodGang{}
	if err := r.Writer.Live.Get(ctx, client.ObjectKeyFromObject(gang), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	gang = live
	return slices.DeleteFunc(openable, func(pod *corev1.Pod) bool { return !mayOpen(pod) }), nil
}

// gang returns the PodGang that a label of the PodClique names; nil if it does not exist.
func (r *Reconciler) gang(ctx context.Context, scope *scope, label string) (*schedulerv1alpha1.PodGang, error) {
	gang := &schedulerv1alpha1.PodGang{}
	key := types.NamespacedName{Namespace: scope.podClique.Namespace, Name: scope.podClique.Labels[label]}
	if err := r.Client.Get(ctx, key, gang); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return gang, nil
}

// followed returns the gang that a label of the PodClique names and that others follow; nil for a PodClique without the
// label, as one of a base gang follows none.
func (r *Reconciler) followed(ctx context.Context, scope *scope, label string) (*gangs.Base, error) {
	name, ok := scope.podClique.Labels[label]
	if !ok {
		return nil, nil
	}
	gang, err := r.gang(ctx, scope, label)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, lookup.OfGang(scope.podClique.Namespace, name)...); err != nil {
		return nil, fmt.Errorf("listing pods of gang %s: %w", name, err)
	}
	scheduled := map[string]int32{}
	for i := range list.Items {
		if pod := &list.Items[i]; pods.Active(pod) && pods.Scheduled(pod) {
			scheduled[pod.Labels[grovev1alpha1.LabelPodClique]]++
		}
	}
	return &gangs.Base{Name: name, Gang: gang, OnNodes: func(podGroup string) int32 { return scheduled[podGroup] }}, nil
}
