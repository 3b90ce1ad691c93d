// Package overrides reads the pieces of Grove's objects that a deployment brings in Grove's own words. Of them the topology constraint is
// carried out: it is another spelling of the deployment's own.
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
	// OfDeployment is that in a PodCliqueSet.
	OfDeployment = []string{"spec", "template", constraintField}
	// OfComponent is that in a clique or a scaling group of its template.
	OfComponent = []string{constraintField}
)

// Constraint returns what an override sets at a path, and the paths of everything else in it, sorted, which is not carried out. The
// constraint is nil if it is not set, or not of that form.
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

// take returns what stands at a path, and the paths of what stands beside it.
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

// Folded returns a deployment whose constraints are its own ones, in its own words, whichever way they were written. Where both ways are
// there, the deployment's own words count. One without overrides is returned as it is.
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
