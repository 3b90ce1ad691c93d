// Package overrides reads the pieces of Grove's objects that a deployment has in Grove's own words. Only the topology
// constraint has an effect: it is another spelling of the deployment's own.
package overrides

import (
	"encoding/json"
	"maps"
	"slices"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const constraintField = "topologyConstraint"

// The paths of the constraint inside of an override.
var (
	// OfDeployment is the path in a PodCliqueSet.
	OfDeployment = []string{"spec", "template", constraintField}
	// OfComponent is the path in a clique or a scaling group of its template.
	OfComponent = []string{constraintField}
)

// Constraint returns the constraint that an override has at a path, and the sorted paths of all its other fields, which
// have no effect. The constraint is nil if it is not set, or is malformed.
func Constraint(override *v1beta1.ProviderOverride, at []string) (*grovev1alpha1.TopologyConstraint, [][]string) {
	var fields map[string]any
	if override == nil || json.Unmarshal(override.Value.Raw, &fields) != nil {
		return nil, nil
	}
	value, rest := take(fields, at)
	if value == nil {
		return nil, rest
	}
	written, err := json.Marshal(value)
	constraint := &grovev1alpha1.TopologyConstraint{}
	if err != nil || json.Unmarshal(written, constraint) != nil {
		return nil, append(rest, at)
	}
	return constraint, rest
}

// take returns the value at a path, and the paths of the values beside it.
func take(fields map[string]any, at []string) (value any, rest [][]string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner, deeper := fields[name].(map[string]any)
		switch {
		case name != at[0]:
			rest = append(rest, []string{name})
		case len(at) == 1:
			value = fields[name]
		case deeper:
			found, beside := take(inner, at[1:])
			value = found
			for _, path := range beside {
				rest = append(rest, append([]string{name}, path...))
			}
		default:
			rest = append(rest, []string{name})
		}
	}
	return value, rest
}

// Folded returns a deployment with all constraints in its own words, whichever way they were written. If both are set,
// the deployment's own words count. A deployment without overrides is returned as it is.
func Folded(deployment *v1beta1.DynamoGraphDeployment) *v1beta1.DynamoGraphDeployment {
	overridden := deployment.Spec.ProviderOverride != nil || slices.ContainsFunc(deployment.Spec.Components,
		func(component v1beta1.ComponentSpec) bool { return component.ProviderOverride != nil })
	if !overridden {
		return deployment
	}
	folded := *deployment
	folded.Spec.Components = slices.Clone(deployment.Spec.Components)
	if constraint, _ := Constraint(deployment.Spec.ProviderOverride, OfDeployment); constraint != nil &&
		folded.Spec.TopologyConstraint == nil {
		folded.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{
			ClusterTopologyName: constraint.TopologyName,
			PackDomain:          v1beta1.TopologyDomain(constraint.RequiredDomain()),
			PreferredDomain:     v1beta1.TopologyDomain(constraint.PreferredDomain()),
		}
	}
	for i := range folded.Spec.Components {
		component := &folded.Spec.Components[i]
		if constraint, _ := Constraint(component.ProviderOverride, OfComponent); constraint != nil &&
			component.TopologyConstraint == nil {
			component.TopologyConstraint = &v1beta1.TopologyConstraint{
				PackDomain:      v1beta1.TopologyDomain(constraint.RequiredDomain()),
				PreferredDomain: v1beta1.TopologyDomain(constraint.PreferredDomain()),
			}
		}
	}
	return &folded
}
