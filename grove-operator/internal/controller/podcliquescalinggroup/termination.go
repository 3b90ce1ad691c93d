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
	scope.termination.Record = situation.Record // It stays if it cannot be judged.
	for _, unit := range situation.Due() {
		live, err := lookup.LiveReplica(ctx, r.Writer.Live, scope.set, scope.replica)
		if err != nil {
			return err
		}
		group := live.ScalingGroups[scope.group.Name]
		if group == nil {
			continue
		}
		existing := termination.Copies(group, live.Members(group.Name), live.Ready)
		if int(unit.Index) >= len(existing) {
			continue // It was scaled in.
		}
		found := existing[unit.Index]
		situation.Untouched = termination.Untouched(situation.Record, found.Objects)
		situation.Confirmed[unit.Index] = found.Without(
			func(_, name string) bool { return termination.HasMinimum(live.PodCliques[name], live.Ready) })
	}
	scope.termination = termination.Decide(situation)
	var errs []error
	for _, object := range scope.termination.Delete {
		errs = append(errs, r.Writer.Delete(ctx, scope.podCliques[object.Name]))
	}
	return errors.Join(errs...)
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
