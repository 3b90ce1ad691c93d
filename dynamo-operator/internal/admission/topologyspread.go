package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/overrides"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/domains"
	"packtree.dev/shared/relations"
)

// spread is one topologySpread of a deployment, with its path.
type spread struct {
	path *field.Path
	v1beta1.TopologySpread
	// relation of its items.
	relation relations.Spread
	// whole is set if the deployment has it for several components together.
	whole bool
	// count is how many replicas it is about.
	count int
	// within are the constraints that hold for all these replicas together.
	within []constraint
}

// spreads returns all spreads of a deployment.
func spreads(deployment *v1beta1.DynamoGraphDeployment, words words) []spread {
	whole, parts := constraints(deployment, words)
	var all []spread
	add := func(path *field.Path, written []v1beta1.TopologySpread, count int, within ...constraint) {
		for i := range written {
			all = append(all, spread{
				path: path.Child("topologySpread").Index(i), TopologySpread: written[i],
				relation: relationOf(&written[i]),
				count:    count, within: within,
			})
		}
	}
	add(field.NewPath("spec"), deployment.Spec.TopologySpread, 0, whole)
	for i := range all {
		all[i].whole, all[i].count = true, countOf(deployment, all[i].Among)
	}
	for i := range deployment.Spec.Components {
		component, path := &deployment.Spec.Components[i], words.component(i)
		within := []constraint{whole}
		for _, part := range parts {
			// A component that is no scaling group has one constraint for all its replicas; otherwise each replica has
			// its own.
			if strings.HasPrefix(part.path.String(), path.String()+".") && !names.Grouped(component) {
				within = append(within, part)
			}
		}
		if group := groupConstraint(deployment, component.Name); group != nil {
			within = append(within, *group)
		}
		add(path, component.TopologySpread, int(replicas(component)), within...)
	}
	for i, group := range names.Groups(deployment) {
		add(groupPath(i), group.TopologySpread, int(ptr.Deref(group.Replicas, 1)), whole)
	}
	return all
}

// groupConstraint is the constraint of the group in which a component is; nil where there is none.
func groupConstraint(deployment *v1beta1.DynamoGraphDeployment, component string) *constraint {
	in := names.GroupOf(deployment, component)
	if in == nil || in.TopologyConstraint == nil {
		return nil
	}
	at := slices.IndexFunc(names.Groups(deployment),
		func(group v1beta1.ComponentGroup) bool { return group.Name == in.Name })
	return &constraint{
		path: groupPath(at).Child("topologyConstraint"), pack: in.TopologyConstraint.PackDomain,
		preferred: in.TopologyConstraint.PreferredDomain,
	}
}

// countOf is how many replicas the named components and groups have together.
func countOf(deployment *v1beta1.DynamoGraphDeployment, among []string) int {
	count := 0
	for _, unit := range names.Units(deployment) {
		if slices.Contains(among, unit.Name) {
			count += int(replicas(unit))
		}
	}
	return count
}

// validateSpreads validates the spreads as far as that needs no topology of the cluster.
func validateSpreads(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	var errs field.ErrorList
	for _, spread := range spreads(overrides.Folded(deployment), words) {
		errs = append(errs, spread.validateBound()...)
		errs = append(errs, spread.validateAmong(deployment, words)...)
		errs = append(errs, spread.validateNear(deployment, words)...)
	}
	return errs
}

func relationOf(s *v1beta1.TopologySpread) relations.Spread {
	return relations.Spread{
		MaxPerDomain: s.MaxPerDomain, MaxPercentPerDomain: s.MaxPercentPerDomain, Even: s.Even, Near: s.Near,
		Preferred: s.WhenUnsatisfiable == corev1.ScheduleAnyway,
	}
}

func (s spread) validateBound() field.ErrorList {
	var errs field.ErrorList
	if s.Domain == "" {
		errs = append(errs, field.Required(s.path.Child("domain"),
			"name the domain by which replicas are counted"))
	}
	return append(errs, s.relation.Validate(s.path)...)
}

func (s spread) validateAmong(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	path := s.path.Child("among")
	switch {
	case !s.whole && len(s.Among) > 0:
		return field.ErrorList{field.Forbidden(path,
			"is for spec.topologySpread alone: here the items are the replicas")}
	case s.whole && len(s.Among) == 0 && s.Near == "":
		return field.ErrorList{
			field.Required(path,
				fmt.Sprintf("name the %ss that are counted together; for one alone, set topologySpread on the %s",
					words.part, words.part)),
		}
	}
	units := names.Units(deployment)
	var errs field.ErrorList
	for i, name := range s.Among {
		path := path.Index(i)
		at := slices.IndexFunc(units, func(unit *v1beta1.ComponentSpec) bool { return unit.Name == name })
		switch group := names.GroupOf(deployment, name); {
		case slices.Contains(s.Among[:i], name):
			errs = append(errs, field.Duplicate(path, name))
		case group != nil:
			errs = append(errs, field.Invalid(path, name,
				fmt.Sprintf("scales with component group %q: name that", group.Name)))
		case at < 0:
			errs = append(errs, field.Invalid(path, name, noSuchPart(deployment, name, words)))
		case !names.Grouped(units[at]) && replicas(units[at]) > 1:
			errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
				"its %d replicas are pods of one group: set experimental.grove.forceScalingGroup on it",
				replicas(units[at]))))
		}
	}
	return errs
}

// validateNear refuses near with a gang of the deployment itself, for which its other gangs would wait, and near for
// only some components of a deployment: each component can say so by itself.
func (s spread) validateNear(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	path := s.path.Child("near")
	switch {
	case s.Near == "":
		return nil
	case s.whole && len(s.Among) > 0:
		return field.ErrorList{field.Invalid(path, s.Near, fmt.Sprintf(
			"contradicts %s: it is for all gangs of the deployment; for those of one %s set it there",
			s.path.Child("among"),
			words.part))}
	case names.IsGang(deployment, s.Near):
		return field.ErrorList{
			field.Invalid(path, s.Near, "is a gang of this deployment: name another's, or use topologyConstraint"),
		}
	}
	return relations.ValidateNear(s.Near, path)
}

// spreadContradictions returns the required spreads that cannot hold within a required domain, with both fields named.
func spreadContradictions(deployment *v1beta1.DynamoGraphDeployment, order domains.Order, words words) field.ErrorList {
	var errs field.ErrorList
	for _, spread := range spreads(overrides.Folded(deployment), words) {
		_, ok := spread.relation.Bound()
		if !ok || spread.relation.Preferred || spread.count <= spread.relation.Limit(spread.count) {
			continue
		}
		for _, within := range spread.within {
			if within.pack == "" || order.Broader(string(within.pack), string(spread.Domain)) {
				continue
			}
			errs = append(errs, spread.relation.Contradiction(spread.path, spread.count, "replicas",
				within.path.Child(packField), string(within.pack)))
			break
		}
	}
	return errs
}
