package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/domains"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/topology"
)

// place is a constraint and its path.
type place struct {
	path       *field.Path
	owner      string
	constraint *grovev1alpha1.TopologyConstraint
	// cliques are those with the pods that the constraint holds together.
	cliques []grovev1alpha1.PodCliqueTemplateSpec
	// pods is how many these pods are.
	pods int64
}

func setPlace(set *grovev1alpha1.PodCliqueSet) place {
	template := &set.Spec.Template
	return place{templatePath.Child("topologyConstraint"), "the set", template.TopologyConstraint, template.Cliques,
		layout.PodsPerReplica(set)}
}

func cliquePlace(set *grovev1alpha1.PodCliqueSet, i int) place {
	clique := &set.Spec.Template.Cliques[i]
	return place{cliquePath(i).Child("topologyConstraint"), fmt.Sprintf("clique %q", clique.Name),
		clique.TopologyConstraint, set.Spec.Template.Cliques[i : i+1], int64(clique.Spec.Replicas)}
}

func groupPlace(set *grovev1alpha1.PodCliqueSet, i int) place {
	group := &set.Spec.Template.PodCliqueScalingGroups[i]
	made := place{groupPath(i).Child("topologyConstraint"), fmt.Sprintf("scaling group %q", group.Name),
		group.TopologyConstraint, nil, 0}
	for _, member := range layout.Copy(set, 0, group, 0) {
		made.cliques = append(made.cliques, *member.Clique)
		made.pods += int64(member.Clique.Spec.Replicas)
	}
	return made
}

// places returns every place of a set that can have a constraint, whether or not it has one.
func places(set *grovev1alpha1.PodCliqueSet) []place {
	all := []place{setPlace(set)}
	for i := range set.Spec.Template.Cliques {
		all = append(all, cliquePlace(set, i))
	}
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		all = append(all, groupPlace(set, i))
	}
	return all
}

func constrained(set *grovev1alpha1.PodCliqueSet) []place {
	return slices.DeleteFunc(places(set), func(p place) bool { return p.constraint == nil })
}

func validateTopology(set *grovev1alpha1.PodCliqueSet, cluster Cluster) field.ErrorList {
	if !cluster.TopologyAware {
		return refuseConstraints(set)
	}
	order := topology.Resolve(set, cluster.Lookup).Order
	errs := validateShapes(set, order)
	errs = append(errs, validateNames(set, cluster.Lookup)...)
	unknown := validateDomains(set, cluster.Lookup)
	if len(unknown) > 0 {
		return append(errs, unknown...)
	}
	return append(errs, validateHierarchy(set, order)...)
}

const topologyOff = "topology awareness is off: switch it on in the operator's configuration " +
	"(topologyAwareScheduling.enabled), or remove the constraint"

func refuseConstraints(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	const reason = topologyOff
	var errs field.ErrorList
	if set.Spec.Template.ClusterTopologyName != "" {
		errs = append(errs, field.Forbidden(templatePath.Child("clusterTopologyName"), reason))
	}
	for _, place := range constrained(set) {
		errs = append(errs, field.Forbidden(place.path, reason))
	}
	return errs
}

// validateShapes checks each constraint by itself.
func validateShapes(set *grovev1alpha1.PodCliqueSet, order domains.Order) field.ErrorList {
	var errs field.ErrorList
	for _, place := range constrained(set) {
		constraint := place.constraint
		required, preferred := constraint.RequiredDomain(), constraint.PreferredDomain()
		if constraint.PackDomain != "" && constraint.Pack != nil && constraint.Pack.Required != "" {
			errs = append(errs, field.Invalid(place.path, constraint.PackDomain,
				"packDomain means pack.required: give only one of them"))
		}
		if required == "" && preferred == "" {
			errs = append(errs, field.Required(place.path,
				"a domain is needed: packDomain, pack.required or pack.preferred"))
		}
		if order.Broader(string(preferred), string(required)) {
			errs = append(errs, field.Invalid(place.path, preferred, fmt.Sprintf(
				"the preferred domain must not be broader than the required one, %s", required)))
		}
	}
	return errs
}

// validateNames checks that all constraints refer to one topology, and that it exists if it is named.
func validateNames(set *grovev1alpha1.PodCliqueSet, lookup topology.Lookup) field.ErrorList {
	var errs field.ErrorList
	named := set.Spec.Template.ClusterTopologyName
	path := templatePath.Child("clusterTopologyName")
	if named != "" {
		if len(constrained(set)) == 0 && len(topology.Spreads(set)) == 0 {
			errs = append(errs, field.Forbidden(path,
				"it may only be given together with a topologyConstraint or a topologySpread somewhere in the set"))
		}
		errs = append(errs, validateChosen(path, named, lookup)...)
	}
	first := named
	for _, place := range constrained(set) {
		name, path := place.constraint.TopologyName, place.path.Child("topologyName")
		switch {
		case name == "":
		case first == "":
			first = name
			errs = append(errs, validateChosen(path, name, lookup)...)
		case name != first && named != "":
			errs = append(errs, field.Invalid(path, name,
				fmt.Sprintf("must equal spec.template.clusterTopologyName, %q", named)))
		case name != first:
			errs = append(errs, field.Invalid(path, name,
				fmt.Sprintf("the whole set uses one topology, and another constraint names %q", first)))
		}
	}
	return errs
}

// validateChosen checks a topology that a set begins to use. A topology that is being deleted is gone when the sets
// that use it are gone; the default one is made anew then.
func validateChosen(path *field.Path, name string, lookup topology.Lookup) field.ErrorList {
	chosen := lookup(name)
	switch {
	case chosen == nil:
		return field.ErrorList{
			field.Invalid(path, name, "there is no ClusterTopology of this name, nor a ClusterTopologyBinding"),
		}
	case chosen.DeletionTimestamp != nil && name != grovev1alpha1.DefaultClusterTopologyName:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
			"the %s is being deleted; name another one, or wait until it is gone and create it anew", chosen.Kind))}
	}
	return nil
}

// validateDomains reports every constraint that names a domain which is not a level of the set's topology.
func validateDomains(set *grovev1alpha1.PodCliqueSet, lookup topology.Lookup) field.ErrorList {
	resolved := topology.Resolve(set, lookup)
	var errs field.ErrorList
	for _, place := range constrained(set) {
		var unknown []string
		for _, domain := range topology.DomainsOf(place.constraint) {
			if !resolved.Has(domain) {
				unknown = append(unknown, string(domain))
			}
		}
		switch {
		case len(unknown) == 0:
		case !resolved.Found && resolved.Name == grovev1alpha1.DefaultClusterTopologyName &&
			set.Spec.Template.ClusterTopologyName == "":
			errs = append(errs, field.Invalid(place.path, strings.Join(unknown, ", "), fmt.Sprintf(
				"there is no default ClusterTopology %q; configure its levels in the operator, "+
					"or name another topology in spec.template.clusterTopologyName",
				resolved.Name)))
		case !resolved.Found: // Reported once, at the field that names the topology.
		default:
			errs = append(errs, field.Invalid(place.path, strings.Join(unknown, ", "), fmt.Sprintf(
				"not a level of %s %q; available domains: %s", resolved.Kind, resolved.Name,
				available(lookup(resolved.Name)))))
		}
	}
	return errs
}

func available(clusterTopology *topology.Topology) string {
	return strings.ReplaceAll(topology.DomainList(clusterTopology), ",", ", ")
}

// validateHierarchy reports each child with a broader domain than its parent, at the parent.
func validateHierarchy(set *grovev1alpha1.PodCliqueSet, order domains.Order) field.ErrorList {
	var errs field.ErrorList
	for _, child := range places(set)[1:] {
		errs = append(errs, validatePair(setPlace(set), child, order)...)
	}
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		group := &set.Spec.Template.PodCliqueScalingGroups[i]
		for j := range set.Spec.Template.Cliques {
			if in := layout.GroupOf(set, set.Spec.Template.Cliques[j].Name); in == group {
				errs = append(errs, validatePair(groupPlace(set, i), cliquePlace(set, j), order)...)
			}
		}
	}
	return errs
}

func validatePair(parent, child place, order domains.Order) field.ErrorList {
	var errs field.ErrorList
	compare := func(kind string, above, below grovev1alpha1.TopologyDomain) {
		if order.Broader(string(below), string(above)) {
			errs = append(errs, field.Invalid(parent.path, above, fmt.Sprintf(
				"%s %ss %s, which is broader than the %s that %s %ss; it must be the same or narrower",
				child.owner, kind, below,
				above, parent.owner, kind)))
		}
	}
	compare("require", parent.constraint.RequiredDomain(), child.constraint.RequiredDomain())
	compare("prefer", parent.constraint.PreferredDomain(), child.constraint.PreferredDomain())
	return errs
}
