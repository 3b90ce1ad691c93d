package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/overrides"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/domains"
)

const (
	packField      = "packDomain"
	preferredField = "preferredDomain"
)

// constraint is a topology constraint of a deployment, a component or a group, with its path.
type constraint struct {
	path            *field.Path
	pack, preferred v1beta1.TopologyDomain
	// group is the constraint of the group that a component is in; nil where there is none.
	group *constraint
}

// constraints returns the deployment's constraint, which may be empty, and those of the components and component groups
// that have one.
func constraints(deployment *v1beta1.DynamoGraphDeployment, words words) (constraint, []constraint) {
	whole := constraint{path: specTopology()}
	if deployment.Spec.TopologyConstraint == nil && deployment.Spec.ProviderOverride != nil {
		whole.path = overridden(field.NewPath("spec"), overrides.OfDeployment)
	}
	folded := overrides.Folded(deployment)
	if own := folded.Spec.TopologyConstraint; own != nil {
		whole.pack, whole.preferred = own.PackDomain, own.PreferredDomain
	}
	var parts []constraint
	for i, component := range folded.Spec.Components {
		if own := component.TopologyConstraint; own != nil {
			path := words.component(i).Child("topologyConstraint")
			if deployment.Spec.Components[i].TopologyConstraint == nil {
				path = overridden(words.component(i), overrides.OfComponent)
			}
			parts = append(parts,
				constraint{path: path, pack: own.PackDomain, preferred: own.PreferredDomain,
					group: groupConstraint(folded, component.Name)})
		}
	}
	for i, group := range names.Groups(folded) {
		if own := group.TopologyConstraint; own != nil {
			parts = append(parts,
				constraint{path: groupPath(i).Child("topologyConstraint"), pack: own.PackDomain,
					preferred: own.PreferredDomain})
		}
	}
	return whole, parts
}

// overridden is the path of a constraint that is written in Grove's words.
func overridden(at *field.Path, path []string) *field.Path {
	return at.Child("providerOverride", append([]string{"value"}, path...)...)
}

func (c constraint) empty() bool {
	return c.pack == "" && c.preferred == ""
}

// named returns each domain that the constraint names, with its path.
func (c constraint) named() []namedDomain {
	var named []namedDomain
	if c.pack != "" {
		named = append(named, namedDomain{c.path.Child(packField), c.pack})
	}
	if c.preferred != "" {
		named = append(named, namedDomain{c.path.Child(preferredField), c.preferred})
	}
	return named
}

type namedDomain struct {
	path   *field.Path
	domain v1beta1.TopologyDomain
}

// validateTopology validates the constraints as far as that needs no topology of the cluster.
func validateTopology(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	whole, parts := constraints(deployment, words)
	errs := validateSpecConstraint(deployment.Spec.TopologyConstraint, whole, parts,
		len(spreads(deployment, words)) > 0, words)
	for _, part := range parts {
		if part.empty() {
			errs = append(errs, field.Required(part.path.Child(packField),
				"a topologyConstraint has a packDomain or a preferredDomain"))
		}
	}
	return errs
}

// validateNesting compares the domains of constraints in the order of the topology that they refer to. Domains that the
// topology does not have are not compared.
func validateNesting(deployment *v1beta1.DynamoGraphDeployment, order domains.Order, words words) field.ErrorList {
	whole, parts := constraints(deployment, words)
	errs := validatePreference(whole, order)
	for _, part := range parts {
		errs = append(errs, validatePreference(part, order)...)
		errs = append(errs, validateHierarchy("the deployment's", whole, part, order)...)
		if part.group != nil {
			errs = append(errs, validateHierarchy("the component group's", *part.group, part, order)...)
		}
	}
	return errs
}

func validateSpecConstraint(
	own *v1beta1.SpecTopologyConstraint, whole constraint, parts []constraint, spreads bool, words words,
) field.ErrorList {
	switch {
	case own == nil || !whole.empty():
		return nil
	case own.ClusterTopologyName == "":
		return field.ErrorList{
			field.Required(whole.path.Child(packField), "an empty topologyConstraint says nothing; leave it out"),
		}
	case spreads || slices.ContainsFunc(parts, func(part constraint) bool { return !part.empty() }):
		return nil
	default:
		return field.ErrorList{field.Forbidden(whole.path.Child(words.topology),
			"no constraint refers to it: set packDomain here or on a "+words.part+", or leave it out")}
	}
}

func validatePreference(c constraint, order domains.Order) field.ErrorList {
	if !order.Broader(string(c.preferred), string(c.pack)) {
		return nil
	}
	return field.ErrorList{field.Invalid(c.path.Child(preferredField), c.preferred,
		fmt.Sprintf("broader than packDomain %q, which holds all pods together already: choose one inside it", c.pack))}
}

// validateHierarchy refuses a constraint of a component if the deployment, or its group, asks for something narrower.
func validateHierarchy(holder string, whole, part constraint, order domains.Order) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range []struct {
		field, of    string
		above, below v1beta1.TopologyDomain
	}{
		{packField, packField, whole.pack, part.pack},
		{preferredField, preferredField, whole.preferred, part.preferred},
		{preferredField, packField, whole.pack, onlyPreferred(part)},
	} {
		if order.Broader(string(pair.below), string(pair.above)) {
			errs = append(errs, field.Invalid(part.path.Child(pair.field), pair.below,
				fmt.Sprintf("broader than %s %s %q: choose %s", holder, pair.of, pair.above,
					oneOf(order.Within(string(pair.above))))))
			break
		}
	}
	return errs
}

func onlyPreferred(c constraint) v1beta1.TopologyDomain {
	if c.pack != "" {
		return ""
	}
	return c.preferred
}

// oneOf lists what there is to choose from, at least one.
func oneOf(choices []string) string {
	if len(choices) == 1 {
		return choices[0]
	}
	return strings.Join(choices[:len(choices)-1], ", ") + " or " + choices[len(choices)-1]
}

// Topology is a cluster's topology, as far as a constraint needs it.
type Topology struct {
	// Kind is ClusterTopology or ClusterTopologyBinding.
	Kind string
	// Name of the topology that the constraints refer to.
	Name string
	// Domains of its levels, broadest first.
	Domains []string
	// Labels are the node labels of these levels.
	Labels []string
	// Problem says why there are no domains to check against, and what to do about it; empty if there are domains.
	Problem string
}

// LabelOf is the node label of a level; empty if the topology does not have it, and for NUMA zones, which are inside of
// nodes.
func (t Topology) LabelOf(domain string) string {
	at := slices.Index(t.Domains, domain)
	if at < 0 || at >= len(t.Labels) || domain == domains.Numa {
		return ""
	}
	return t.Labels[at]
}

// order is the order of domains by which they are compared. A ClusterTopology has a place also for domains that it
// lacks.
func (t Topology) order() domains.Order {
	if t.Kind == grovev1alpha1.KindClusterTopologyBinding {
		return t.Domains
	}
	return domains.All()
}

// checkTopology says which domains the topology does not have. It is asked only when a deployment is created: a
// topology that changes later is no mistake of the deployment.
func checkTopology(deployment *v1beta1.DynamoGraphDeployment, topology Topology, words words) field.ErrorList {
	whole, parts := constraints(deployment, words)
	var named []namedDomain
	for _, constraint := range append([]constraint{whole}, parts...) {
		named = append(named, constraint.named()...)
	}
	for _, spread := range spreads(deployment, words) {
		if spread.Domain != "" {
			named = append(named, namedDomain{spread.path.Child("domain"), spread.Domain})
		}
	}
	if len(named) == 0 {
		return nil
	}
	if topology.Problem != "" {
		path := named[0].path
		if own := deployment.Spec.TopologyConstraint; own != nil && own.ClusterTopologyName != "" {
			path = whole.path.Child(words.topology)
		}
		return field.ErrorList{field.Invalid(path, valueAt(deployment, named[0]), topology.Problem)}
	}
	var errs field.ErrorList
	for _, named := range named {
		if !slices.Contains(topology.Domains, string(named.domain)) {
			errs = append(errs, field.Invalid(named.path, named.domain,
				fmt.Sprintf("not a level of %s %q; available domains: %s",
					topology.Kind, topology.Name, strings.Join(topology.Domains, ", "))))
		}
	}
	errs = append(errs, validateNesting(deployment, topology.order(), words)...)
	return append(errs, spreadContradictions(deployment, topology.order(), words)...)
}

func valueAt(deployment *v1beta1.DynamoGraphDeployment, first namedDomain) string {
	if own := deployment.Spec.TopologyConstraint; own != nil && own.ClusterTopologyName != "" {
		return own.ClusterTopologyName
	}
	return string(first.domain)
}
