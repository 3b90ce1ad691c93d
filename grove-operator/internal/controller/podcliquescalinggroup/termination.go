package podcliquescalinggroup

import (
	"context"
	"errors"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/termination"
)

// terminate decides whether a copy is recreated by itself, and deletes the objects that the status has recorded for it.
// A new decision is carried out when the cache shows its record: the operator may end at any moment.
func (r *Reconciler) terminate(ctx context.Context, scope *scope) error {
	counted := func(podClique *grovev1alpha1.PodClique) int32 { return podClique.Status.ReadyReplicas }
	situation := termination.Situation{
		Record:    scope.group.Status.GangTermination,
		Delay:     termination.Delay(scope.set),
		Updating:  termination.Updating(scope.set),
		Units:     termination.Copies(scope.group, scope.members(), counted),
		Confirmed: map[int32][]termination.Breach{},
		Now:       r.Clock.Now(),
	}
	for _, unit := range situation.Due() {
		breaches, err := r.confirm(ctx, scope, unit.Index)
		if err != nil {
			return err
		}
		situation.Confirmed[unit.Index] = breaches
	}
	scope.termination = termination.Decide(situation)
	var errs []error
	for _, object := range scope.termination.Delete {
		errs = append(errs, r.Writer.Delete(ctx, scope.podCliques[object.Name]))
	}
	return errors.Join(errs...)
}

// confirm counts the pods of a copy that is due by its conditions, and of the copies that keep the group's minimum
// without it.
func (r *Reconciler) confirm(ctx context.Context, scope *scope, copyIndex int32) ([]termination.Breach, error) {
	ready, err := lookup.ReadyPods(ctx, r.Client, scope.set, scope.replica)
	if err != nil {
		return nil, err
	}
	unit := termination.Copies(scope.group, scope.members(), ready)[copyIndex]
	return unit.Without(func(_, name string) bool { return termination.HasMinimum(scope.podCliques[name], ready) }), nil
}

// members are the PodCliques of the group.
func (s *scope) members() []*grovev1alpha1.PodClique {
	members := make([]*grovev1alpha1.PodClique, 0, len(s.podCliques))
	for _, name := range slices.Sorted(maps.Keys(s.podCliques)) {
		members = append(members, s.podCliques[name])
	}
	return members
}

// announce emits an event for a copy that is going to be recreated, once that is recorded.
func (r *Reconciler) announce(ctx context.Context, scope *scope) {
	if !scope.termination.Begun {
		return
	}
	record := scope.termination.Record
	log.FromContext(ctx).Info("recreating a copy", "copy", record.Index, "reason", record.Message)
	r.Events.Warning(scope.group, events.GangTerminated, "copy %d is recreated: %s", record.Index, record.Message)
}
