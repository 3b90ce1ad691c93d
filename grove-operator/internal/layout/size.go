package layout

import (
	"math"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Bounds of what is made of a set. Admission turns down what is larger. The scale subresource goes past admission, and a
// schema may be older than the operator, so that controllers stop there as well.
const (
	// MaxReplicas is how many replicas a set, a clique or a scaling group may have; the schema has the same number.
	MaxReplicas = 10_000
	// MaxPods is how many pods a set may have altogether.
	MaxPods = 100_000
)

// PodsPerReplica is how many pods the template gives to one replica of a set. It is the largest int64 where the number
// would be larger than that.
func PodsPerReplica(set *grovev1alpha1.PodCliqueSet) int64 {
	var pods int64
	cliques := set.Spec.Template.Cliques
	for i := range cliques {
		ofClique := int64(max(cliques[i].Spec.Replicas, 0))
		if group := GroupOf(set, cliques[i].Name); group != nil {
			ofClique *= int64(max(GroupReplicas(group), 0)) // Two int32 fit into an int64.
		}
		if pods > math.MaxInt64-ofClique {
			return math.MaxInt64
		}
		pods += ofClique
	}
	return pods
}

// Replicas is how many replicas are made of a set: those that it asks for, as far as its pods stay within MaxPods.
func Replicas(set *grovev1alpha1.PodCliqueSet) int32 {
	replicas := Bounded(set.Spec.Replicas)
	if pods := PodsPerReplica(set); pods > 0 {
		return int32(min(int64(replicas), MaxPods/pods))
	}
	return replicas
}

// Bounded is a number of replicas that is safe to count to.
func Bounded(replicas int32) int32 {
	return min(max(replicas, 0), MaxReplicas)
}
