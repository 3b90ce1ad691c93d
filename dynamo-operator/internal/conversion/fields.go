package conversion

import (
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func pvcsToHub(claims []v1alpha1.PersistentVolumeClaim) []v1beta1.PersistentVolumeClaim {
	var converted []v1beta1.PersistentVolumeClaim
	for _, claim := range claims {
		converted = append(converted, v1beta1.PersistentVolumeClaim(claim))
	}
	return converted
}

func pvcsFromHub(claims []v1beta1.PersistentVolumeClaim) []v1alpha1.PersistentVolumeClaim {
	var converted []v1alpha1.PersistentVolumeClaim
	for _, claim := range claims {
		converted = append(converted, v1alpha1.PersistentVolumeClaim(claim))
	}
	return converted
}

func restartToHub(restart *v1alpha1.Restart) *v1beta1.Restart {
	if restart == nil {
		return nil
	}
	converted := &v1beta1.Restart{ID: restart.ID}
	if strategy := restart.Strategy; strategy != nil {
		converted.Strategy = &v1beta1.RestartStrategy{Type: v1beta1.RestartStrategyType(strategy.Type),
			Order: strategy.Order}
	}
	return converted
}

func restartFromHub(restart *v1beta1.Restart) *v1alpha1.Restart {
	if restart == nil {
		return nil
	}
	converted := &v1alpha1.Restart{ID: restart.ID}
	if strategy := restart.Strategy; strategy != nil {
		converted.Strategy = &v1alpha1.RestartStrategy{Type: v1alpha1.RestartStrategyType(strategy.Type),
			Order: strategy.Order}
	}
	return converted
}

func specConstraintToHub(constraint *v1alpha1.SpecTopologyConstraint) *v1beta1.SpecTopologyConstraint {
	if constraint == nil {
		return nil
	}
	return &v1beta1.SpecTopologyConstraint{
		ClusterTopologyName: constraint.TopologyProfile,
		PackDomain:          v1beta1.TopologyDomain(constraint.PackDomain),
		PreferredDomain:     v1beta1.TopologyDomain(constraint.PreferredDomain),
	}
}

func specConstraintFromHub(constraint *v1beta1.SpecTopologyConstraint) *v1alpha1.SpecTopologyConstraint {
	if constraint == nil {
		return nil
	}
	return &v1alpha1.SpecTopologyConstraint{
		TopologyProfile: constraint.ClusterTopologyName,
		PackDomain:      v1alpha1.TopologyDomain(constraint.PackDomain),
		PreferredDomain: v1alpha1.TopologyDomain(constraint.PreferredDomain),
	}
}

func constraintToHub(constraint *v1alpha1.TopologyConstraint) *v1beta1.TopologyConstraint {
	if constraint == nil {
		return nil
	}
	return &v1beta1.TopologyConstraint{
		PackDomain:      v1beta1.TopologyDomain(constraint.PackDomain),
		PreferredDomain: v1beta1.TopologyDomain(constraint.PreferredDomain),
	}
}

func constraintFromHub(constraint *v1beta1.TopologyConstraint) *v1alpha1.TopologyConstraint {
	if constraint == nil {
		return nil
	}
	return &v1alpha1.TopologyConstraint{
		PackDomain:      v1alpha1.TopologyDomain(constraint.PackDomain),
		PreferredDomain: v1alpha1.TopologyDomain(constraint.PreferredDomain),
	}
}

func statusToHub(status *v1alpha1.DynamoGraphDeploymentStatus) v1beta1.DynamoGraphDeploymentStatus {
	converted := v1beta1.DynamoGraphDeploymentStatus{
		ObservedGeneration: status.ObservedGeneration,
		State:              v1beta1.DeploymentState(status.State),
		Conditions:         status.Conditions,
		Topology:           status.Topology,
	}
	if status.Services != nil {
		converted.Services = make(map[string]v1beta1.ServiceReplicaStatus, len(status.Services))
		for name, service := range status.Services {
			converted.Services[name] = v1beta1.ServiceReplicaStatus(service)
		}
		converted.Components = v1beta1.ComponentsOf(converted.Services)
	}
	if restart := status.Restart; restart != nil {
		converted.Restart = &v1beta1.RestartStatus{
			ObservedID: restart.ObservedID, Phase: v1beta1.RestartPhase(restart.Phase), Restarted: restart.Restarted,
		}
	}
	if placed := status.Placement; placed != nil {
		state := v1beta1.PlacementScoreState(placed.State)
		converted.Placement = &v1beta1.PlacementStatus{Score: placed.Score, State: state}
	}
	return converted
}

func statusFromHub(status *v1beta1.DynamoGraphDeploymentStatus) v1alpha1.DynamoGraphDeploymentStatus {
	converted := v1alpha1.DynamoGraphDeploymentStatus{
		ObservedGeneration: status.ObservedGeneration,
		State:              v1alpha1.DeploymentState(status.State),
		Conditions:         status.Conditions,
		Topology:           status.Topology,
	}
	if status.Services != nil {
		converted.Services = make(map[string]v1alpha1.ServiceReplicaStatus, len(status.Services))
		for name, service := range status.Services {
			converted.Services[name] = v1alpha1.ServiceReplicaStatus(service)
		}
	}
	if restart := status.Restart; restart != nil {
		converted.Restart = &v1alpha1.RestartStatus{
			ObservedID: restart.ObservedID, Phase: v1alpha1.RestartPhase(restart.Phase), Restarted: restart.Restarted,
		}
	}
	if placed := status.Placement; placed != nil {
		state := v1alpha1.PlacementScoreState(placed.State)
		converted.Placement = &v1alpha1.PlacementStatus{Score: placed.Score, State: state}
	}
	return converted
}
