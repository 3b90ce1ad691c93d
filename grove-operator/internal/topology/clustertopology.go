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

// Default is the ClusterTopology that the operator makes from its configuration, its levels broadest first whatever their
// order in the configuration. Nil if topology awareness is off.
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
			// From the first moment on: a set may use it at once, and somebody delete it.
			Finalizers: []string{grovev1alpha1.FinalizerClusterTopology},
		},
		Spec: grovev1alpha1.ClusterTopologySpec{Levels: levels},
	}
}

// Levels are levels of the configuration as a ClusterTopology has them, in the order given.
func Levels(configured []groveconfigv1alpha1.TopologyLevel) []grovev1alpha1.TopologyLevel {
	levels := make([]grovev1alpha1.TopologyLevel, 0, len(configured))
	for _, level := range configured {
		levels = append(levels,
			grovev1alpha1.TopologyLevel{Domain: grovev1alpha1.TopologyDomain(level.Domain), Key: level.Key})
	}
	return levels
}

// ForScheduler is the Topology that the scheduler reads in place of a ClusterTopology or ClusterTopologyBinding. It is owned by
// it, unless that has no UID because it does not come from a cluster.
func ForScheduler(clusterTopology *Topology) *kaiv1alpha1.Topology {
	levels := make([]kaiv1alpha1.TopologyLevel, 0, len(clusterTopology.Spec.Levels))
	for _, level := range clusterTopology.Spec.Levels {
		levels = append(levels, kaiv1alpha1.TopologyLevel{NodeLabel: level.Key, Alias: aliasOf(level)})
	}
	made := &kaiv1alpha1.Topology{
		TypeMeta: metav1.TypeMeta{APIVersion: kaiv1alpha1.GroupVersion.String(), Kind: "Topology"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        clusterTopology.Name,
			Labels:      map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
			Annotations: clusterTopology.sparesForScheduler(),
		},
		Spec: kaiv1alpha1.TopologySpec{Levels: levels},
	}
	if clusterTopology.UID != "" {
		made.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(clusterTopology, grovev1alpha1.GroupVersion.WithKind(clusterTopology.Kind)),
		}
	}
	return made
}

// aliasOf tells the scheduler that a level is inside of hosts, where its label does not say so.
func aliasOf(level grovev1alpha1.TopologyLevel) string {
	if level.Domain != grovev1alpha1.TopologyDomainNuma || strings.Contains(strings.ToLower(level.Key), domains.Numa) {
		return ""
	}
	return domains.Numa
}

// KeyProblem is why the scheduler would not take the key of one of the levels; empty if it would. The levels may be in any
// order, which is told instead. Below kubernetes.io/hostname there can only be a level inside of hosts.
func KeyProblem(level grovev1alpha1.TopologyLevel, levels []grovev1alpha1.TopologyLevel, order domains.Order) string {
	if level.Key != corev1.LabelHostname {
		return ""
	}
	for _, other := range levels {
		if other.Domain != grovev1alpha1.TopologyDomainNuma && order.Narrower(string(other.Domain), string(level.Domain)) {
			return fmt.Sprintf("the label tells single hosts apart, so that no level can be below it but numa, and %s is",
				other.Domain)
		}
	}
	return ""
}

// DomainList is the levels' domains, each once and none that cannot be used, for a column that people read.
func DomainList(clusterTopology *Topology) string {
	usable := orderIn(clusterTopology)
	words := slices.DeleteFunc(clusterTopology.Order(), func(word string) bool { return !usable.Known(word) })
	return strings.Join(words, ",")
}
