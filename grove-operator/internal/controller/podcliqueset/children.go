package podcliqueset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/termination"
)

// write applies every direct child of the set, and deletes the children that it no longer has.
func (r *Reconciler) write(ctx context.Context, scope *scope) error {
	made := layout.Replicas(scope.set)
	var outcome error
	if made < scope.set.Spec.Replicas {
		outcome = fmt.Errorf("making %d of %d replicas: a set has at most %d pods", made, scope.set.Spec.Replicas,
			layout.MaxPods)
	}
	// First: pods that wait for others run under the account, and the API server refuses them while it does not
	// exist. If a foreign object has one of the names, the set's other pods need not wait for that.
	if err := r.applyAll(ctx, scope, access(scope)); err != nil {
		outcome = errors.Join(outcome, err)
		if scope.account == nil && !isTaken(err) {
			return outcome
		}
	}
	wanted, all := &childNames{}, binding(scope)
	for replica := range made {
		all = append(all, ofReplica(scope, replica, wanted)...)
	}
	return errors.Join(outcome, r.applyAll(ctx, scope, all), r.prune(ctx, scope, wanted))
}

// child is the desired state of one child, and its state in the cache.
type child struct {
	desired, live client.Object
	// creates is set if the child has pods and the cache has none of its name.
	creates bool
}

// applyAll applies children that do not depend on each other.
func (r *Reconciler) applyAll(ctx context.Context, scope *scope, all []child) error {
	return passes.Each(len(all), func(i int) error {
		_, err := r.Writer.Apply(ctx, all[i].desired, all[i].live)
		err = client.IgnoreNotFound(err) // The namespace is being deleted.
		if err == nil && all[i].creates {
			scope.happened.created.Add(1)
		}
		return err
	})
}

// childNames are the names of the set's desired children, by kind.
type childNames struct {
	services, autoscalers, scalingGroups, podCliques []string
}

func access(scope *scope) []child {
	return []child{
		{desired: children.ServiceAccount(scope.set), live: scope.account},
		{desired: children.Role(scope.set), live: scope.role},
	}
}

// isTaken reports whether an object was not written because a foreign object has its name.
func isTaken(err error) bool {
	var foreign apply.ForeignError
	return errors.As(err, &foreign)
}

// binding is the RoleBinding. The API server refuses it until it knows the Role; the Role's creation brings the next
// pass.
func binding(scope *scope) []child {
	if scope.role == nil {
		return nil
	}
	bound := slices.Collect(maps.Values(scope.allPodCliques))
	return []child{{desired: children.RoleBinding(scope.set, bound), live: scope.binding}}
}

// ofReplica are the children of one replica. It adds their names to the wanted ones.
func ofReplica(scope *scope, replica int32, wanted *childNames) []child {
	service := children.HeadlessService(scope.set, replica)
	wanted.services = append(wanted.services, service.Name)
	all := []child{{desired: service, live: scope.services[service.Name]}}
	for _, autoscaler := range children.Autoscalers(scope.set, replica) {
		wanted.autoscalers = append(wanted.autoscalers, autoscaler.Name)
		all = append(all, child{desired: autoscaler, live: scope.autoscalers[autoscaler.Name]})
	}
	groups := scope.set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		group := children.ScalingGroup(scope.set, replica, &groups[i])
		group.Spec.Replicas = termination.Replicas(scope.set.Status.GangTermination, termination.KindScalingGroup,
			group, group.Spec.Replicas)
		wanted.scalingGroups = append(wanted.scalingGroups, group.Name)
		live := scope.scalingGroups[group.Name]
		children.KeepScalingGroupScale(group, live)
		all = append(all, child{desired: group, live: live, creates: live == nil})
	}
	for _, member := range layout.Standalone(scope.set, replica) {
		podClique := children.NextPodClique(scope.set, member, nil, scope.podCliques[member.Name],
			rollout.Reached(scope.set, replica))
		podClique.Spec.Replicas = termination.Replicas(scope.set.Status.GangTermination, termination.KindPodClique,
			podClique, podClique.Spec.Replicas)
		live := scope.podCliques[podClique.Name]
		children.KeepPodCliqueScale(podClique, live)
		wanted.podCliques = append(wanted.podCliques, podClique.Name)
		all = append(all, child{desired: podClique, live: live, creates: live == nil})
	}
	if scope.termination.Holds(replica) {
		return nil
	}
	return all
}

// prune deletes the children of replicas that were scaled in. The PodGang controller deletes the gangs of replicas that
// stay.
func (r *Reconciler) prune(ctx context.Context, scope *scope, wanted *childNames) error {
	surplus := slices.Concat(
		notWanted(scope.autoscalers, wanted.autoscalers), notWanted(scope.scalingGroups, wanted.scalingGroups),
		notWanted(scope.podCliques, wanted.podCliques), notWanted(scope.services, wanted.services),
	)
	for _, gang := range scope.gangs {
		if replica, ok := layout.ReplicaOf(gang); !ok || replica >= scope.set.Spec.Replicas {
			surplus = append(surplus, gang)
		}
	}
	return passes.Each(len(surplus), func(i int) error {
		err := r.Writer.Delete(ctx, surplus[i])
		scope.happened.deletes(surplus[i], err)
		return err
	})
}

// notWanted returns the objects with other names, sorted by name.
func notWanted[T client.Object](existing map[string]T, wanted []string) []client.Object {
	var surplus []client.Object
	kept := sets.New(wanted...)
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if !kept.Has(name) {
			surplus = append(surplus, existing[name])
		}
	}
	return surplus
}

// finalize deletes all children, and removes the set's finalizer when the children with pods are gone, also the ones
// that the cache does not show yet: children of an orphaned set would have no owner.
func (r *Reconciler) finalize(ctx context.Context, scope *scope) error {
	if len(scope.podCliques)+len(scope.scalingGroups) == 0 {
		if err := r.observeLive(ctx, scope); err != nil {
			return fmt.Errorf("before PodCliqueSet %s is released: %w", scope.set.Name, err)
		}
	}
	if err := r.prune(ctx, scope.gone(), &childNames{}); err != nil {
		return errors.Join(err, r.writeStatus(ctx, scope, err))
	}
	if len(scope.podCliques)+len(scope.scalingGroups) > 0 {
		return r.writeStatus(ctx, scope, nil)
	}
	if err := r.deleteAccess(ctx, scope); err != nil {
		return errors.Join(err, r.writeStatus(ctx, scope, err))
	}
	return r.Writer.RemoveFinalizer(ctx, scope.set, grovev1alpha1.FinalizerPodCliqueSet)
}

// deleteAccess deletes the account and the rights with which the pods read each other, now that they are gone.
func (r *Reconciler) deleteAccess(ctx context.Context, scope *scope) error {
	var errs []error
	remove := func(child client.Object) {
		if lookup.Belongs(child, scope.set) {
			errs = append(errs, r.Writer.Delete(ctx, child))
		}
	}
	if scope.binding != nil {
		remove(scope.binding)
	}
	if scope.role != nil {
		remove(scope.role)
	}
	if scope.account != nil {
		remove(scope.account)
	}
	return errors.Join(errs...)
}

// gone is the scope as if the set had no replica any more.
func (s *scope) gone() *scope {
	emptied := *s
	emptied.set = s.set.DeepCopy()
	emptied.set.Spec.Replicas = 0
	return &emptied
}
