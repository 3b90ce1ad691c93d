package status

import (
	"slices"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// NextRestart decides which components are to be restarted next. It returns the new state of the last restart that the
// spec asked for; nil if there was none. The pods of the components in Restarted are to be made by this restart. If the
// spec no longer has the restart, no further component is restarted, and the restart is over when the components that
// it began are ready.
func NextRestart(deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation) *v1beta1.RestartStatus {
	wanted, last := deployment.Spec.Restart, deployment.Status.Restart
	if wanted == nil {
		return finish(last, observed)
	}
	next := &v1beta1.RestartStatus{ObservedID: wanted.ID, Phase: v1beta1.RestartPhaseRestarting}
	if last != nil && last.ObservedID == wanted.ID {
		next = last.DeepCopy()
	} else if !observed.Exists {
		// A deployment that is created with an id has no pods to replace, and its pods bear the id from the beginning.
		next.Restarted = order(deployment)
		return next
	}
	if next.Phase == v1beta1.RestartPhaseCompleted {
		return next
	}
	next.Restarted = append(next.Restarted, unnoted(deployment, next, observed)...)
	if len(next.Restarted) > 0 && !done(next, observed) {
		return next
	}
	// The order may have changed since the restart began.
	left := slices.DeleteFunc(order(deployment),
		func(component string) bool { return slices.Contains(next.Restarted, component) })
	if len(left) == 0 {
		next.Phase = v1beta1.RestartPhaseCompleted
		return next
	}
	if !parallel(deployment) {
		left = left[:1]
	}
	next.Restarted = append(next.Restarted, left...)
	return next
}

// unnoted are the components that bear the id and are not in the status: the step was written, and the status was not.
func unnoted(
	deployment *v1beta1.DynamoGraphDeployment, noted *v1beta1.RestartStatus, observed backend.Observation,
) []string {
	return slices.DeleteFunc(order(deployment), func(component string) bool {
		return observed.Restarted[component] != noted.ObservedID || slices.Contains(noted.Restarted, component)
	})
}

func finish(last *v1beta1.RestartStatus, observed backend.Observation) *v1beta1.RestartStatus {
	next := last.DeepCopy()
	if next != nil && next.Phase == v1beta1.RestartPhaseRestarting && done(next, observed) {
		next.Phase = v1beta1.RestartPhaseCompleted
	}
	return next
}

// done reports whether the restarted components are ready again. If the observation is older than the last step, the
// framework does not know about the step yet.
func done(last *v1beta1.RestartStatus, observed backend.Observation) bool {
	return observed.Current && observed.Settled && !slices.ContainsFunc(last.Restarted, func(component string) bool {
		return observed.Restarted[component] != last.ObservedID || !observed.AllReady(component)
	})
}

// parallel reports whether all components restart at once.
func parallel(deployment *v1beta1.DynamoGraphDeployment) bool {
	strategy := deployment.Spec.Restart.Strategy
	return strategy != nil && strategy.Type == v1beta1.RestartStrategyParallel
}

func order(deployment *v1beta1.DynamoGraphDeployment) []string {
	if strategy := deployment.Spec.Restart.Strategy; strategy != nil && len(strategy.Order) > 0 {
		return slices.Clone(strategy.Order)
	}
	names := make([]string, 0, len(deployment.Spec.Components))
	for _, component := range deployment.Spec.Components {
		names = append(names, component.Name)
	}
	return names
}
