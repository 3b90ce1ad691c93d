package podcliqueset

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/termination"
)

// terminate decides whether a replica is recreated as a whole, and deletes the objects that the status has recorded for
// it. A new decision is carried out when the cache shows its record: the operator may end at any moment.
func (r *Reconciler) terminate(ctx context.Context, scope *scope) error {
	situation := termination.Situation{
		Record:   scope.set.Status.GangTermination,
		Delay:    termination.Delay(scope.set),
		Updating: termination.Updating(scope.set),
		Now:      r.Clock.Now(),
	}
	for replica := range layout.Replicas(scope.set) {
		situation.Units = append(situation.Units,
			termination.Replica(scope.set, replica, scope.podCliques, scope.scalingGroups))
	}
	situation.Confirmed = map[int32][]termination.Breach{}
	for _, unit := range situation.Due() {
		breaches, err := r.confirm(ctx, scope, unit)
		if err != nil {
			return err
		}
		situation.Confirmed[unit.Index] = breaches
	}
	scope.termination = termination.Decide(situation)
	var errs []error
	for _, object := range scope.termination.Delete {
		errs = append(errs, r.Writer.Delete(ctx, scope.object(object)))
	}
	return errors.Join(errs...)
}

func (s *scope) object(object termination.Object) client.Object {
	if object.Kind == termination.KindScalingGroup {
		return s.scalingGroups[object.Name]
	}
	return s.podCliques[object.Name]
}

// confirm counts the pods of a replica that is due by its conditions.
func (r *Reconciler) confirm(ctx context.Context, scope *scope, unit termination.Unit) ([]termination.Breach, error) {
	ready, err := lookup.ReadyPods(ctx, r.Client, scope.set, unit.Index)
	if err != nil {
		return nil, err
	}
	var list grovev1alpha1.PodCliqueList
	if err := r.Client.List(ctx, &list, lookup.OfReplica(scope.set.Namespace, scope.set.Name,
		unit.Index)...); err != nil {
		return nil, fmt.Errorf("listing PodCliques: %w", err)
	}
	members := map[string][]*grovev1alpha1.PodClique{}
	for i := range list.Items {
		group := list.Items[i].Labels[grovev1alpha1.LabelPodCliqueScalingGroup]
		members[group] = append(members[group], &list.Items[i])
	}
	return unit.Without(func(kind, name string) bool {
		if kind == termination.KindScalingGroup {
			return termination.KeepsMinimum(scope.scalingGroups[name], members[name], ready)
		}
		return termination.HasMinimum(scope.podCliques[name], ready)
	}), nil
}

// announce emits an event for a replica that is going to be recreated, once that is recorded.
func (r *Reconciler) announce(ctx context.Context, scope *scope) {
	if !scope.termination.Begun {
		return
	}
	record := scope.termination.Record
	log.FromContext(ctx).Info("recreating a replica", "replica", record.Index, "reason", record.Message)
	r.Events.Warning(scope.set, events.GangTerminated, "replica %d is recreated: %s", record.Index, record.Message)
}
