package topology

import (
	"slices"
	"strings"

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
	levels := make([]grovev1alpha1.TopologyLevel, 0, len(configuration.Levels))
	for _, level := range configuration.Levels {
		levels = append(levels, grovev1alpha1.TopologyLevel{Domain: grovev1alpha1.TopologyDomain(level.Domain), Key: level.Key})
	}
	slices.SortStableFunc(levels, func(a, b grovev1alpha1.TopologyLevel) int {
		return domains.Compare(string(a.Domain), string(b.Domain))
	})
	return &grovev1alpha1.ClusterTopology{
		TypeMeta: metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "ClusterTopology"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   grovev1alpha1.DefaultClusterTopologyName,
			Labels: map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
		},
		Spec: grovev1alpha1.ClusterTopologySpec{Levels: levels},
	}
}

// ForScheduler is the Topology that the scheduler reads in place of a ClusterTopology. It is owned by it, unless the
// ClusterTopology has no UID because it does not come from a cluster.
func ForScheduler(clusterTopology *grovev1alpha1.ClusterTopology) *kaiv1alpha1.Topology {
	levels := make([]kaiv1alpha1.TopologyLevel, 0, len(clusterTopology.Spec.Levels))
	for _, level := range clusterTopology.Spec.Levels {
		levels = append(levels, kaiv1alpha1.TopologyLevel{NodeLabel: level.Key})
	}
	made := &kaiv1alpha1.Topology{
		TypeMeta: metav1.TypeMeta{APIVersion: kaiv1alpha1.GroupVersion.String(), Kind: "Topology"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   clusterTopology.Name,
			Labels: map[string]string{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
		},
		Spec: kaiv1alpha1.TopologySpec{Levels: levels},
	}
	if clusterTopology.UID != "" {
		made.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(clusterTopology, grovev1alpha1.GroupVersion.WithKind("ClusterTopology")),
		}
	}
	return made
}

// DomainList is the levels' domains, for a column that people read.
func DomainList(clusterTopology *grovev1alpha1.ClusterTopology) string {
	words := make([]string, 0, len(clusterTopology.Spec.Levels))
	for _, level := range clusterTopology.Spec.Levels {
		words = append(words, string(level.Domain))
	}
	return strings.Join(words, ",")
}
