package grove

import (
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// wantedReplicas is the number that the deployment asks for, which may be 0.
func wantedReplicas(component *v1beta1.ComponentSpec) int32 {
	if component.Replicas == nil {
		return 1
	}
	return *component.Replicas
}

func minAvailable(component *v1beta1.ComponentSpec) int32 {
	if component.MinAvailable == nil {
		return 1
	}
	return *component.MinAvailable
}

// templateReplicas is the number in the template of the PodCliqueSet. A template may not ask for fewer than the
// minimum: below it the template keeps its number, and the live object is scaled instead. The template keeps its number
// also if an adapter does the scaling.
func templateReplicas(component *v1beta1.ComponentSpec, live Live) int32 {
	wanted := max(wantedReplicas(component), minAvailable(component))
	standing, ok := standingReplicas(component, live.PodCliqueSet)
	if ok && (component.ScalingAdapter != nil || wantedReplicas(component) < minAvailable(component)) {
		return standing
	}
	return wanted
}

// standingReplicas is the number in the template of the existing PodCliqueSet.
func standingReplicas(component *v1beta1.ComponentSpec, set *grovev1alpha1.PodCliqueSet) (int32, bool) {
	if set == nil {
		return 0, false
	}
	name := names.Component(component.Name)
	for _, clique := range set.Spec.Template.Cliques {
		if !names.Grouped(component) && clique.Name == name {
			return clique.Spec.Replicas, true
		}
	}
	for _, group := range set.Spec.Template.PodCliqueScalingGroups {
		if names.Grouped(component) && group.Name == name && group.Replicas != nil {
			return *group.Replicas, true
		}
	}
	return 0, false
}
