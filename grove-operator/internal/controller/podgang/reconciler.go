// Package podgang keeps the PodGangs of each replica of a PodCliqueSet, and their status.
package podgang

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/topology"
)

// Request names one replica of a PodCliqueSet: its base gang and its scaled gangs are kept together.
type Request struct {
	Set     types.NamespacedName
	Replica int32
}

// String is the request in logs.
func (r Request) String() string {
	return fmt.Sprintf("%s/%d", r.Set, r.Replica)
}

// Reconciler keeps the PodGangs of each replica of a set.
type Reconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer applies PodGangs.
	Writer apply.Writer
	// Clock decides when a new gang has its first status.
	Clock clock.PassiveClock
}

// scope is the state of one pass.
type scope struct {
	set        *grovev1alpha1.PodCliqueSet
	replica    int32
	topology   topology.Resolution
	podCliques map[string]*grovev1alpha1.PodClique
	copies     map[string]int32
	// terminations are the copies that are being recreated, by the name of their PodCliqueScalingGroup.
	terminations map[string]*grovev1alpha1.GangTermination
	// pods are the ones that count, by PodClique, sorted by index.
	pods  map[string][]*corev1.Pod
	gangs map[string]*schedulerv1alpha1.PodGang
	// now is the time of the pass.
	now time.Time
}

// Reconcile reads the objects of the replica, and writes the differences in its gangs and their status.
func (r *Reconciler) Reconcile(ctx context.Context, request Request) (reconcile.Result, error) {
	set := &grovev1alpha1.PodCliqueSet{}
	if err := r.Client.Get(ctx, request.Set, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if set.DeletionTimestamp != nil || request.Replica >= layout.Replicas(set) {
		return reconcile.Result{}, nil // The set's controller deletes the gangs of a set that is being deleted.
	}
	scope, err := r.observe(ctx, set, request.Replica)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observing replica %s: %w", request, err)
	}
	if err := r.settleTopology(ctx, scope); err != nil {
		return passes.Outcome(ctx, reconcile.Result{}, fmt.Errorf("turning replica %s to its topology: %w",
			request, err))
	}
	var due []time.Time
	for _, gang := range scope.gangs {
		due = append(due, gangs.FirstStatusDue(gang, scope.now))
	}
	return passes.Outcome(ctx, passes.At(scope.now, due...), r.write(ctx, scope))
}

func (r *Reconciler) observe(ctx context.Context, set *grovev1alpha1.PodCliqueSet, replica int32) (*scope, error) {
	scope := &scope{
		set: set, replica: replica,
		podCliques:   map[string]*grovev1alpha1.PodClique{},
		copies:       map[string]int32{},
		terminations: map[string]*grovev1alpha1.GangTermination{},
		pods:         map[string][]*corev1.Pod{},
		gangs:        map[string]*schedulerv1alpha1.PodGang{},
		now:          r.Clock.Now(),
	}
	return scope, errors.Join(r.observeGroups(ctx, scope), r.observeCliques(ctx, scope), r.observeGangs(ctx, scope))
}

func (r *Reconciler) observeCliques(ctx context.Context, scope *scope) error {
	inReplica := lookup.OfReplica(scope.set.Namespace, scope.set.Name, scope.replica)
	var podCliques grovev1alpha1.PodCliqueList
	if err := r.Client.List(ctx, &podCliques, inReplica...); err != nil {
		return fmt.Errorf("listing PodCliques: %w", err)
	}
	for i := range podCliques.Items {
		scope.podCliques[podCliques.Items[i].Name] = &podCliques.Items[i]
	}
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, inReplica...); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		name := pod.Labels[grovev1alpha1.LabelPodClique]
		owner := scope.podCliques[name]
		if owner != nil && metav1.IsControlledBy(pod, owner) && pods.Active(pod) {
			scope.pods[name] = append(scope.pods[name], pod)
		}
	}
	for _, ofClique := range scope.pods {
		slices.SortFunc(ofClique, byIndex)
	}
	return nil
}

func byIndex(a, b *corev1.Pod) int {
	indexA, _ := layout.PodIndexOf(a)
	indexB, _ := layout.PodIndexOf(b)
	if indexA != indexB {
		return int(indexA) - int(indexB)
	}
	return strings.Compare(a.Name, b.Name)
}

func (r *Reconciler) observeGroups(ctx context.Context, scope *scope) error {
	for i := range scope.set.Spec.Template.PodCliqueScalingGroups {
		name := scalingGroupName(scope, i)
		group := &grovev1alpha1.PodCliqueScalingGroup{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: scope.set.Namespace, Name: name}, group)
		if err == nil {
			scope.copies[name] = rollout.Copies(scope.set, group)
			scope.terminations[name] = group.Status.GangTermination
		} else if !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading PodCliqueScalingGroup %s: %w", name, err)
		}
	}
	return nil
}

func (r *Reconciler) observeGangs(ctx context.Context, scope *scope) error {
	var list schedulerv1alpha1.PodGangList
	if err := r.Client.List(ctx, &list,
		lookup.OfReplica(scope.set.Namespace, scope.set.Name, scope.replica)...); err != nil {
		return fmt.Errorf("listing PodGangs: %w", err)
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], scope.set) {
			scope.gangs[list.Items[i].Name] = &list.Items[i]
		}
	}
	return nil
}

// write applies the gangs, the base gang after the scaled ones, deletes those of copies that were scaled in, and writes
// the status of the others.
func (r *Reconciler) write(ctx context.Context, scope *scope) error {
	desired := gangs.Desired(scope.set, scope.replica, scope.topology, scope.live())
	var base *schedulerv1alpha1.PodGang
	scaled := desired
	if len(desired) > 0 && desired[0].Name == layout.BaseGang(scope.set.Name, scope.replica) {
		base, scaled = desired[0], desired[1:]
	}
	err := passes.Each(len(scaled), func(i int) error { return r.writeGang(ctx, scope, scaled[i]) })
	if base != nil && !scope.awaitsScaled(base, scaled) {
		err = errors.Join(err, r.writeGang(ctx, scope, base))
	}
	surplus := maps.Clone(scope.gangs)
	for _, wanted := range desired {
		delete(surplus, wanted.Name)
	}
	names := slices.Sorted(maps.Keys(surplus))
	return errors.Join(err, passes.Each(len(names),
		func(i int) error { return r.Writer.Delete(ctx, surplus[names[i]]) }))
}

// awaitsScaled reports whether a new base gang is to come after some of the scaled gangs that share a constraint with
// it, because their pods are about to be made: it is placed where there is room for all.
func (s *scope) awaitsScaled(base *schedulerv1alpha1.PodGang, scaled []*schedulerv1alpha1.PodGang) bool {
	return s.gangs[base.Name] == nil && base.Annotations[schedulingv2alpha2.AnnotationBaseGang] != "" &&
		slices.ContainsFunc(scaled, func(gang *schedulerv1alpha1.PodGang) bool {
			return s.gangs[gang.Name] == nil && slices.ContainsFunc(gang.Spec.PodGroups, s.awaitsPods)
		})
}

// writeGang applies a gang, and its status if the gang existed before. A new gang is written when its pods are there.
func (r *Reconciler) writeGang(ctx context.Context, scope *scope, desired *schedulerv1alpha1.PodGang) error {
	live := scope.gangs[desired.Name]
	if live == nil && slices.ContainsFunc(desired.Spec.PodGroups, scope.awaitsPods) {
		return nil
	}
	if _, err := r.Writer.Apply(ctx, desired, live); err != nil || live == nil {
		// The namespace is being deleted; or the status would be about pods that the gang does not list.
		return client.IgnoreNotFound(err)
	}
	if !gangs.FirstStatusDue(live, scope.now).IsZero() {
		return nil
	}
	return r.writeStatus(ctx, scope, desired, live)
}

// awaitsPods reports whether pods of a group are about to be made: its PodClique has no status yet, which follows the
// pods or says why there are none, or the set's controller has not come to make the PodClique. Either brings the next
// pass.
func (s *scope) awaitsPods(group schedulerv1alpha1.PodGroup) bool {
	podClique := s.podCliques[group.Name]
	if podClique == nil {
		return s.set.Status.ObservedGeneration != s.set.Generation
	}
	return podClique.Status.ObservedGeneration == 0 && int32(len(group.PodReferences)) < podClique.Spec.Replicas
}

func (s *scope) live() gangs.Live {
	return gangs.Live{
		Copies: func(scalingGroup string) (int32, bool) {
			copies, ok := s.copies[scalingGroup]
			return copies, ok
		},
		Replicas: func(podClique string) (int32, bool) {
			if found, ok := s.podCliques[podClique]; ok {
				return found.Spec.Replicas, true
			}
			return 0, false
		},
		Pods: func(podClique string) []string {
			names := make([]string, 0, len(s.pods[podClique]))
			for _, pod := range s.pods[podClique] {
				names = append(names, pod.Name)
			}
			return names
		},
		Gang: func(name string) *schedulerv1alpha1.PodGang { return s.gangs[name] },
	}
}
