package topology

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/domains"
)

// Default is the ClusterTopology that the operator makes from its configuration, its levels broadest first whatever
// their order in the configuration. Nil if topology awareness is off.
func Default(configuration groveconfigv1alpha1.TopologyAwareSchedulingConfiguration) *grovev1alpha1.ClusterTopology {
	if !configuration.Enabled {
		return nil
	}
	levels := Levels(configuration.Levels)
	slices.SortStableFunc(levels, func(a, b grovev1alpha1.TopologyLevel) int {
		return domains.All().Compare(string(a.Domain), string(b.Domain))
	})
	return &grovev1alpha1.ClusterTopology{
		TypeMeta: metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "ClusterTopology"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   grovev1alpha1.DefaultClusterTopologyName,
			Labels: map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
			// From the beginning: a set may use it at once, and a user may delete it then.
			Finalizers: []string{grovev1alpha1.FinalizerClusterTopology},
		},
		Spec: grovev1alpha1.ClusterTopologySpec{Levels: levels},
	}
}

// Levels converts levels of the configuration to those of a ClusterTopology, in the given order.
func Levels(configured []groveconfigv1alpha1.TopologyLevel) []grovev1alpha1.TopologyLevel {
	levels := make([]grovev1alpha1.TopologyLevel, 0, len(configured))
	for _, level := range configured {
		levels = append(levels,
			grovev1alpha1.TopologyLevel{Domain: grovev1alpha1.TopologyDomain(level.Domain), Key: level.Key})
	}
	return levels
}

// ForScheduler is the Topology that the scheduler reads instead of a ClusterTopology or ClusterTopologyBinding, which
// owns it unless it has no UID, without a cluster.
func ForScheduler(clusterTopology *Topology) *kaiv1alpha1.Topology {
	made := &kaiv1alpha1.Topology{
		TypeMeta: metav1.TypeMeta{APIVersion: kaiv1alpha1.GroupVersion.String(), Kind: "Topology"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   clusterTopology.Name,
			Labels: map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
		},
		Spec: kaiv1alpha1.TopologySpec{Levels: schedulerLevels(clusterTopology.Spec.Levels)},
	}
	if clusterTopology.UID != "" {
		made.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(clusterTopology, grovev1alpha1.GroupVersion.WithKind(clusterTopology.Kind)),
		}
	}
	return made
}

// schedulerLevels are the levels as the scheduler knows them: NUMA zones by an alias, directly below single hosts, with
// a level of hosts that they need and users cannot name if no level above distinguishes hosts.
func schedulerLevels(levels []grovev1alpha1.TopologyLevel) []kaiv1alpha1.TopologyLevel {
	made := make([]kaiv1alpha1.TopologyLevel, 0, len(levels)+1)
	for _, level := range levels {
		if level.Domain != grovev1alpha1.TopologyDomainNuma {
			made = append(made, kaiv1alpha1.TopologyLevel{NodeLabel: level.Key})
			continue
		}
		hosts := kaiv1alpha1.TopologyLevel{NodeLabel: corev1.LabelHostname}
		if !slices.Contains(made, hosts) {
			made = append(made, hosts)
		}
		made = append(made, kaiv1alpha1.TopologyLevel{NodeLabel: level.Key, Alias: domains.Numa})
	}
	return made
}

// labelled are the levels with domains that node labels name: all but NUMA zones, which are inside of nodes.
func labelled(levels []grovev1alpha1.TopologyLevel) []grovev1alpha1.TopologyLevel {
	return slices.DeleteFunc(slices.Clone(levels), func(level grovev1alpha1.TopologyLevel) bool {
		return level.Domain == grovev1alpha1.TopologyDomainNuma
	})
}

// KeyProblem says why the scheduler would not accept the key of one of the levels; empty if it would. The levels may be
// in any order, which is an error of its own. Below kubernetes.io/hostname there can only be a level inside of hosts.
func KeyProblem(level grovev1alpha1.TopologyLevel, levels []grovev1alpha1.TopologyLevel, order domains.Order) string {
	if level.Key != corev1.LabelHostname {
		return ""
	}
	if level.Domain == grovev1alpha1.TopologyDomainNuma {
		return "the label distinguishes hosts, and numa is inside of them: choose any other key, no node needs to carry it"
	}
	for _, other := range levels {
		if other.Domain != grovev1alpha1.TopologyDomainNuma &&
			order.Narrower(string(other.Domain), string(level.Domain)) {
			return fmt.Sprintf(
				"the label distinguishes single hosts, so that no level can be below it but numa, and %s is",
				other.Domain)
		}
	}
	return ""
}

// DomainList lists the levels' domains, each once and only valid ones, for a printed column.
func DomainList(clusterTopology *Topology) string {
	usable := orderIn(clusterTopology)
	words := slices.DeleteFunc(clusterTopology.Order(), func(word string) bool { return !usable.Known(word) })
	return strings.Join(words, ",")
}
