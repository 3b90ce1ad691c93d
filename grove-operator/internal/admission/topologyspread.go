package admission

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/domains"
	"packtree.dev/shared/relations"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/topology"
)

// spreadPlace is a spread and its path.
type spreadPlace struct {
	path   *field.Path
	spread grovev1alpha1.TopologySpread
	// relation of its items.
	relation relations.Spread
	// ofSet is true for a spread in the template of the whole set.
	ofSet bool
	// items is a phrase for the items that are counted, and count how many of them the template asks for.
	items string
	count int
	// within are the constraints that hold for all items together.
	within []place
}

// spreadPlaces returns every spread of a set.
func spreadPlaces(set *grovev1alpha1.PodCliqueSet) []spreadPlace {
	var all []spreadPlace
	add := func(path *field.Path, spreads []grovev1alpha1.TopologySpread, made spreadPlace) {
		for i := range spreads {
			one := made
			one.path, one.spread = path.Child("topologySpread").Index(i), spreads[i]
			one.relation = relations.Spread{
				MaxPerDomain: one.spread.MaxPerDomain, MaxPercentPerDomain: one.spread.MaxPercentPerDomain,
				Even: one.spread.Even, Near: one.spread.Near, Preferred: one.spread.Preferred(),
			}
			if one.ofSet && len(spreads[i].Among) > 0 {
				one.items, one.count, one.within = "copies", copiesOf(set, spreads[i].Among), []place{setPlace(set)}
			}
			all = append(all, one)
		}
	}
	template := &set.Spec.Template
	add(templatePath, template.TopologySpread, spreadPlace{ofSet: true, items: "replicas",
		count: int(set.Spec.Replicas)})
	for i := range template.Cliques {
		clique := &template.Cliques[i]
		within := []place{setPlace(set), cliquePlace(set, i)}
		if group := layout.GroupOf(set, clique.Name); group != nil {
			at := slices.IndexFunc(template.PodCliqueScalingGroups,
				func(g grovev1alpha1.PodCliqueScalingGroupConfig) bool { return g.Name == group.Name })
			within = append(within, groupPlace(set, at))
		}
		add(cliquePath(i), clique.TopologySpread,
			spreadPlace{items: "pods", count: int(clique.Spec.Replicas), within: within})
	}
	for i := range template.PodCliqueScalingGroups {
		group := &template.PodCliqueScalingGroups[i]
		add(groupPath(i), group.TopologySpread, spreadPlace{
			items: "copies", count: int(layout.GroupReplicas(group)), within: []place{setPlace(set)},
		})
	}
	return all
}

// copiesOf is how many copies the named scaling groups and cliques have together.
func copiesOf(set *grovev1alpha1.PodCliqueSet, names []string) int {
	count := 0
	for _, name := range names {
		if group := layout.Group(set, name); group != nil {
			count += int(layout.GroupReplicas(group))
		} else {
			count++
		}
	}
	return count
}

// validateSpreads returns what is wrong with the spreads of a set: each by itself, and with the constraints.
func validateSpreads(set *grovev1alpha1.PodCliqueSet, cluster Cluster) field.ErrorList {
	var errs field.ErrorList
	resolved := topology.Resolve(set, cluster.Lookup)
	for _, place := range spreadPlaces(set) {
		if !cluster.TopologyAware {
			errs = append(errs, field.Forbidden(place.path, topologyOff))
			continue
		}
		found := place.relation.Validate(place.path)
		found = append(found, place.validateAmong(set)...)
		found = append(found, place.validateNear(set)...)
		found = append(found, place.validateDomain(resolved, cluster.Lookup)...)
		if len(found) == 0 {
			found = place.contradictions(resolved.Order)
		}
		errs = append(errs, found...)
	}
	return errs
}

func (p spreadPlace) validateAmong(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	path := p.path.Child("among")
	if !p.ofSet && len(p.spread.Among) > 0 {
		return field.ErrorList{
			field.Forbidden(path, "is for spec.template.topologySpread alone: here the items are "+p.items),
		}
	}
	known := groupNames(set)
	for _, clique := range cliqueNames(set) {
		if layout.GroupOf(set, clique) == nil {
			known = append(known, clique)
		}
	}
	var errs field.ErrorList
	for i, name := range p.spread.Among {
		path := path.Index(i)
		switch group := layout.GroupOf(set, name); {
		case slices.Contains(p.spread.Among[:i], name):
			errs = append(errs, field.Duplicate(path, name))
		case layout.Group(set, name) != nil:
		case group != nil:
			errs = append(errs, field.Invalid(path, name,
				fmt.Sprintf("the clique scales with its scaling group: name %q", group.Name)))
		case !slices.Contains(known, name):
			errs = append(errs, field.Invalid(path, name,
				"there is no such scaling group or standalone clique"+nearest(name, known)))
		case podsOf(set, name) > 1:
			errs = append(errs, field.Invalid(path, name, fmt.Sprintf(
				"the clique has %d pods, which are no copies: make a scaling group of it with a clique of one pod",
				podsOf(set, name))))
		}
	}
	return errs
}

// validateNear refuses near with a gang of the set itself, for which its other gangs would wait, and near for copies of
// several groups: each group can say so by itself.
func (p spreadPlace) validateNear(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	near, path := p.spread.Near, p.path.Child("near")
	switch {
	case near == "":
		return nil
	case len(p.spread.Among) > 0:
		return field.ErrorList{field.Invalid(path, near, fmt.Sprintf(
			"contradicts %s: it is for all gangs of the set; for copies of one scaling group set it there",
			p.path.Child("among")))}
	case isGangOf(set, near):
		return field.ErrorList{
			field.Invalid(path, near, "is a gang of this set: name another's, or use a topologyConstraint"),
		}
	}
	return relations.ValidateNear(near, path)
}

// isGangOf reports whether a name is that of a gang of the set, for any present or future replica or copy.
func isGangOf(set *grovev1alpha1.PodCliqueSet, name string) bool {
	rest, ok := strings.CutPrefix(name, set.Name+"-")
	replica, rest, scaled := strings.Cut(rest, "-")
	if !ok || !isIndex(replica) {
		return false
	}
	return !scaled || slices.ContainsFunc(groupNames(set), func(group string) bool {
		copyIndex, ok := strings.CutPrefix(rest, group+"-")
		return ok && isIndex(copyIndex)
	})
}

// isIndex reports whether a part of a name is a number in the form that names use.
func isIndex(part string) bool {
	number, err := strconv.ParseUint(part, 10, 31)
	return err == nil && strconv.FormatUint(number, 10) == part
}

func podsOf(set *grovev1alpha1.PodCliqueSet, clique string) int32 {
	at := slices.Index(cliqueNames(set), clique)
	return set.Spec.Template.Cliques[at].Spec.Replicas
}

func (p spreadPlace) validateDomain(resolved topology.Resolution, lookup topology.Lookup) field.ErrorList {
	path := p.path.Child("domain")
	switch {
	case p.spread.Domain == "":
		return field.ErrorList{field.Required(path, "name the domain by which "+p.items+" are counted")}
	case !resolved.Found:
		return field.ErrorList{field.Invalid(path, p.spread.Domain, fmt.Sprintf(
			"there is no ClusterTopology %q; create it, or name another topology in spec.template.clusterTopologyName",
			resolved.Name))}
	case !resolved.Has(p.spread.Domain):
		return field.ErrorList{field.Invalid(path, p.spread.Domain, fmt.Sprintf(
			"not a level of %s %q; available domains: %s", resolved.Kind, resolved.Name,
			available(lookup(resolved.Name))))}
	}
	return nil
}

// contradictions returns the constraints that keep all items in one domain of the spread's level, if the spread does
// not allow that.
func (p spreadPlace) contradictions(order domains.Order) field.ErrorList {
	if p.spread.Preferred() || p.count <= p.relation.Limit(p.count) {
		return nil
	}
	for _, place := range p.within {
		required := place.constraint.RequiredDomain()
		if required == "" || order.Broader(string(required), string(p.spread.Domain)) {
			continue
		}
		return field.ErrorList{p.relation.Contradiction(p.path, p.count, p.items, place.path, string(required))}
	}
	return nil
}

// warnOfSpreads warns of spreads without effect, which hold wherever the scheduler places the pods.
func warnOfSpreads(set *grovev1alpha1.PodCliqueSet) []string {
	var warnings []string
	for _, place := range spreadPlaces(set) {
		bound, ok := place.relation.Bound()
		if !ok || place.spread.Near != "" {
			continue
		}
		limit := place.relation.Limit(place.count)
		switch {
		case place.count <= 1:
			warnings = append(warnings, fmt.Sprintf("%s: has no effect with %d %s", place.path,
				place.count, place.items))
		case !place.spread.Even && place.count <= limit:
			warnings = append(warnings, fmt.Sprintf("%s: has no effect: there are %d %s, and %d may stand in one %s",
				place.path.Child(bound), place.count, place.items, limit, place.spread.Domain))
		}
	}
	return warnings
}
