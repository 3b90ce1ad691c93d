package solve

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// rules is what pods of a gang ask of each other's places.
type rules struct {
	// any is set if there are some at all.
	any bool
	// liftable is set if a node that is closed to a pod at first can become open to it when others of the gang have
	// their nodes: to follow a pod one needs it to be there, and a domain has its turn once the others have caught
	// up. The order in which pods are put on their nodes then matters too.
	liftable bool
	// labels are the keys of labels by which the rules tell pods apart.
	labels sets.Set[string]
}

func rulesOf(pods []*corev1.Pod, resources *kubeframework.Resources) rules {
	found := rules{any: resources.Claims(pods...), labels: sets.New[string]()}
	for _, pod := range pods {
		near := len(kubeframework.RequiredAffinity(pod)) > 0
		spread := slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
			return c.WhenUnsatisfiable == corev1.DoNotSchedule
		})
		found.liftable = found.liftable || near || spread
		found.any = found.any || found.liftable || len(kubeframework.RequiredAntiAffinity(pod)) > 0
		found.labels = found.labels.Union(eligibility.OwnRules(pod))
	}
	return found
}
