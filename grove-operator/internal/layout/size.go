package layout

import (
	"math"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Bounds of a set's pods. Admission refuses larger sets. The scale subresource bypasses admission, and a schema may be
// older than the operator, so controllers apply the bounds as well.
const (
	// MaxReplicas is how many replicas a set, a clique or a scaling group may have; the schema has the same number.
	MaxReplicas = 10_000
	// MaxPods is how many pods a set may have altogether.
	MaxPods = 100_000
)

// PodsPerReplica is how many pods the template gives to one replica of a set; at most the largest int64.
func PodsPerReplica(set *grovev1alpha1.PodCliqueSet) int64 {
	var pods int64
	cliques := set.Spec.Template.Cliques
	for i := range cliques {
		ofClique := int64(max(cliques[i].Spec.Replicas, 0))
		if group := GroupOf(set, cliques[i].Name); group != nil {
			ofClique *= int64(max(GroupReplicas(group), 0)) // The product of two int32 fits into an int64.
		}
		if pods > math.MaxInt64-ofClique {
			return math.MaxInt64
		}
		pods += ofClique
	}
	return pods
}

// Replicas is how many replicas of a set are made: as many as it asks for, as long as its pods stay within MaxPods.
func Replicas(set *grovev1alpha1.PodCliqueSet) int32 {
	replicas := Bounded(set.Spec.Replicas)
	if pods := PodsPerReplica(set); pods > 0 {
		return int32(min(int64(replicas), MaxPods/pods))
	}
	return replicas
}

// Bounded is a number of replicas within the bounds, over which a loop is safe.
func Bounded(replicas int32) int32 {
	return min(max(replicas, 0), MaxReplicas)
}
