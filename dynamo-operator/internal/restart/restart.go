// Package restart decides which components of a deployment are to be restarted next.
package restart

import (
	"slices"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Next is how far the restart that the spec asks for is to be taken now; nil if none was ever asked for. The components
// that it names as restarted are those whose pods are to be made by this restart.
func Next(deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation) *v1beta1.RestartStatus {
	wanted, last := deployment.Spec.Restart, deployment.Status.Restart
	if wanted == nil {
		return last
	}
	order := order(deployment)
	next := &v1beta1.RestartStatus{ObservedID: wanted.ID, Phase: v1beta1.RestartPhaseRestarting}
	switch {
	case last != nil && last.ObservedID == wanted.ID:
		next = last.DeepCopy()
		if next.Phase == v1beta1.RestartPhaseCompleted || !done(next.Restarted, observed) {
			return next
		}
	case !observed.Exists:
		// What is created with an id has nothing to replace, and its pods bear the id from the beginning.
		next.Restarted = order
		return next
	}
	if len(next.Restarted) == len(order) {
		next.Phase = v1beta1.RestartPhaseCompleted
		return next
	}
	next.Restarted = append(next.Restarted, order[len(next.Restarted):][:step(deployment)]...)
	return next
}

// done says whether the components that were restarted are back.
func done(restarted []string, observed backend.Observation) bool {
	return observed.Current && observed.Settled && !slices.ContainsFunc(restarted, func(component string) bool {
		return !observed.AllReady(component)
	})
}

// step is how many components restart at once.
func step(deployment *v1beta1.DynamoGraphDeployment) int {
	strategy := deployment.Spec.Restart.Strategy
	if strategy != nil && strategy.Type == v1beta1.RestartStrategyParallel {
		return len(deployment.Spec.Components)
	}
	return 1
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
