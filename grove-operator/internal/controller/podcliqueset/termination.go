package podcliqueset

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

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
	scope.termination.Record = situation.Record // It stays if it cannot be judged.
	for _, unit := range situation.Due() {
		live, err := lookup.LiveReplica(ctx, r.Writer.Live, scope.set, unit.Index)
		if err != nil {
			return err
		}
		existing := termination.Replica(scope.set, unit.Index, live.PodCliques, live.ScalingGroups)
		situation.Untouched = termination.Untouched(situation.Record, existing.Objects)
		situation.Confirmed[unit.Index] = unit.Without(func(kind, name string) bool {
			if kind == termination.KindScalingGroup {
				group := live.ScalingGroups[name]
				return group != nil && termination.KeepsMinimum(group, live.Members(name), live.Ready)
			}
			podClique := live.PodCliques[name]
			return podClique != nil && termination.HasMinimum(podClique, live.Ready)
		})
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

// announce emits an event for a replica that is going to be recreated, once that is recorded.
func (r *Reconciler) announce(ctx context.Context, scope *scope) {
	if !scope.termination.Begun {
		return
	}
	record := scope.termination.Record
	log.FromContext(ctx).Info("recreating a replica", "replica", record.Index, "reason", record.Message)
	r.Events.Warning(scope.set, events.GangTerminated, "replica %d is recreated: %s", record.Index, record.Message)
}
