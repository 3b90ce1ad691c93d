// Package topology decides which ClusterTopology serves a PodCliqueSet, translates the domains of its constraints to
// node label keys, and derives the scheduler's Topology from a ClusterTopology.
package topology

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/domains"
)

// Lookup returns the ClusterTopology or ClusterTopologyBinding of a name; nil if there is neither.
type Lookup func(name string) *Topology

// Resolution says which topology the constraints of a set refer to, and which of their domains it lacks.
type Resolution struct {
	// Name is the ClusterTopology or ClusterTopologyBinding that the constraints refer to; empty for a set without
	// constraints.
	Name string
	// Kind of the two.
	Kind string
	// SchedulerTopology is the Topology that the scheduler reads instead.
	SchedulerTopology string
	// Order is the order of its domains.
	Order domains.Order
	// Named is the topology that the set names: another one than Name only while its gangs keep Name, because pods are
	// on nodes under it.
	Named string
	// Found reports whether a ClusterTopology of that name exists.
	Found bool
	// Missing are the domains in use that are no levels of it, broadest first.
	Missing []grovev1alpha1.TopologyDomain
	// hold reports whether the set's pods wait for missing levels, rather than being placed without them.
	hold bool

	keys map[grovev1alpha1.TopologyDomain]string
}

// NameFor returns the ClusterTopology that the constraints and spreads of a set refer to: clusterTopologyName, or else
// the topologyName of a constraint, or else the default. A set with neither constraints nor spreads refers to none,
// unless it names one.
func NameFor(set *grovev1alpha1.PodCliqueSet) string {
	template := &set.Spec.Template
	if template.ClusterTopologyName != "" {
		return template.ClusterTopologyName
	}
	constraints := Constraints(set)
	for _, constraint := range constraints {
		if constraint.TopologyName != "" {
			return constraint.TopologyName
		}
	}
	if len(constraints) == 0 && len(Spreads(set)) == 0 {
		return ""
	}
	return grovev1alpha1.DefaultClusterTopologyName
}

// UsedBy returns the ClusterTopologies that a set needs: the one that it names, and the one that its gangs have as long
// as they have not changed.
func UsedBy(set *grovev1alpha1.PodCliqueSet) []string {
	var used []string
	for _, name := range []string{NameFor(set), set.Status.ClusterTopologyName} {
		if name != "" && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	return used
}

// Constraints returns the constraints of a set in the order set, cliques, scaling groups.
func Constraints(set *grovev1alpha1.PodCliqueSet) []*grovev1alpha1.TopologyConstraint {
	template := &set.Spec.Template
	var constraints []*grovev1alpha1.TopologyConstraint
	add := func(constraint *grovev1alpha1.TopologyConstraint) {
		if constraint != nil {
			constraints = append(constraints, constraint)
		}
	}
	add(template.TopologyConstraint)
	for i := range template.Cliques {
		add(template.Cliques[i].TopologyConstraint)
	}
	for i := range template.PodCliqueScalingGroups {
		add(template.PodCliqueScalingGroups[i].TopologyConstraint)
	}
	return constraints
}

// Spreads returns the spreads of a set in the order set, cliques, scaling groups.
func Spreads(set *grovev1alpha1.PodCliqueSet) []grovev1alpha1.TopologySpread {
	template := &set.Spec.Template
	spreads := slices.Clone(template.TopologySpread)
	for i := range template.Cliques {
		spreads = append(spreads, template.Cliques[i].TopologySpread...)
	}
	for i := range template.PodCliqueScalingGroups {
		spreads = append(spreads, template.PodCliqueScalingGroups[i].TopologySpread...)
	}
	return spreads
}

// DomainsOf returns the domains that a constraint names, required before preferred.
func DomainsOf(constraint *grovev1alpha1.TopologyConstraint) []grovev1alpha1.TopologyDomain {
	var named []grovev1alpha1.TopologyDomain
	for _, domain := range []grovev1alpha1.TopologyDomain{constraint.RequiredDomain(), constraint.PreferredDomain()} {
		if domain != "" && !slices.Contains(named, domain) {
			named = append(named, domain)
		}
	}
	return named
}

// Resolve finds the topology of a set and compares its levels with the domains that the set's constraints name.
func Resolve(set *grovev1alpha1.PodCliqueSet, lookup Lookup) Resolution {
	return ResolveAs(set, NameFor(set), lookup)
}

// ResolveAs is Resolve for the topology that the gangs keep instead of the one that the set names.
func ResolveAs(set *grovev1alpha1.PodCliqueSet, name string, lookup Lookup) Resolution {
	resolution := Resolution{
		Name: name, Named: NameFor(set), Kind: KindClusterTopology, SchedulerTopology: name, Order: domains.All(),
		hold: holds(set), keys: map[grovev1alpha1.TopologyDomain]string{},
	}
	if resolution.Name == "" {
		return resolution
	}
	clusterTopology := lookup(resolution.Name)
	if clusterTopology == nil {
		return resolution
	}
	resolution.Found, resolution.Kind, resolution.SchedulerTopology = true, clusterTopology.Kind,
		clusterTopology.SchedulerName()
	resolution.Order = orderIn(clusterTopology)
	for _, level := range clusterTopology.Spec.Levels {
		resolution.keys[level.Domain] = level.Key
	}
	for _, domain := range domainsIn(set) {
		if _, ok := resolution.keys[domain]; !ok && !slices.Contains(resolution.Missing, domain) {
			resolution.Missing = append(resolution.Missing, domain)
		}
	}
	slices.SortFunc(resolution.Missing, func(a, b grovev1alpha1.TopologyDomain) int {
		return resolution.Order.Compare(string(a), string(b))
	})
	return resolution
}

// domainsIn returns every domain that a set names, as often as it is named.
func domainsIn(set *grovev1alpha1.PodCliqueSet) []grovev1alpha1.TopologyDomain {
	var named []grovev1alpha1.TopologyDomain
	for _, constraint := range Constraints(set) {
		named = append(named, DomainsOf(constraint)...)
	}
	for _, spread := range Spreads(set) {
		named = append(named, spread.Domain)
	}
	return named
}

// Has reports whether a domain is a level of the resolved topology.
func (r Resolution) Has(domain grovev1alpha1.TopologyDomain) bool {
	_, ok := r.keys[domain]
	return ok
}

// Translate converts a constraint with domains to one with node label keys. Domains that the topology does not have are
// left out; nil if none is left.
func (r Resolution) Translate(constraint *grovev1alpha1.TopologyConstraint) *schedulerv1alpha1.TopologyConstraint {
	pack := &schedulerv1alpha1.TopologyPackConstraint{
		Required:  r.keyOf(constraint.RequiredDomain()),
		Preferred: r.keyOf(constraint.PreferredDomain()),
	}
	if pack.Required == nil && pack.Preferred == nil {
		return nil
	}
	return &schedulerv1alpha1.TopologyConstraint{PackConstraint: pack}
}

// Key is the node label of a domain; empty if the resolved topology has no such level.
func (r Resolution) Key(domain grovev1alpha1.TopologyDomain) string {
	return r.keys[domain]
}

func (r Resolution) keyOf(domain grovev1alpha1.TopologyDomain) *string {
	key, ok := r.keys[domain]
	if !ok {
		return nil
	}
	return &key
}

// Condition is the condition TopologyLevelsUnavailable of a set with this resolution.
func (r Resolution) Condition(generation int64) metav1.Condition {
	condition := metav1.Condition{
		Type:               grovev1alpha1.ConditionTopologyLevelsUnavailable,
		ObservedGeneration: generation,
	}
	switch {
	case r.Name == "":
		condition.Status = metav1.ConditionFalse
		condition.Reason = grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable
		condition.Message = "no topology constraint is in use"
	case !r.Found:
		condition.Status = metav1.ConditionUnknown
		condition.Reason = grovev1alpha1.ReasonClusterTopologyNotFound
		condition.Message = fmt.Sprintf("ClusterTopology %q does not exist, %s; %s", r.Name,
			r.consequence("the topology constraints"), remedy(r.Name))
	case len(r.Missing) > 0:
		condition.Status = metav1.ConditionTrue
		condition.Reason = grovev1alpha1.ReasonClusterTopologyLevelsUnavailable
		condition.Message = fmt.Sprintf("%s %q has no level %s, %s", r.Kind, r.Name, joined(r.Missing),
			r.consequence("constraints on it"))
	default:
		condition.Status = metav1.ConditionFalse
		condition.Reason = grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable
		condition.Message = fmt.Sprintf("every domain in use is a level of %s %q", r.Kind, r.Name)
	}
	return condition
}

// remedy says how to create a missing ClusterTopology: only the operator can create the default one.
func remedy(name string) string {
	if name == grovev1alpha1.DefaultClusterTopologyName {
		return "enable topologyAwareScheduling in grove-operator's configuration"
	}
	return "create it"
}

func joined(names []grovev1alpha1.TopologyDomain) string {
	words := make([]string, 0, len(names))
	for _, name := range names {
		words = append(words, string(name))
	}
	return strings.Join(words, ", ")
}
