package status

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

// topologyInForce is the topology that a gang keeps, as long as one does, or else the one that the set names.
func topologyInForce(named string, gangs []*schedulerv1alpha1.PodGang) string {
	for _, gang := range byName(gangs) {
		if keeps(gang, named) {
			return gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology]
		}
	}
	return named
}

func keeps(gang *schedulerv1alpha1.PodGang, named string) bool {
	return named != "" && gang.Annotations[grovev1alpha1.AnnotationTopologyKept] == named
}

// topologyKept is the condition TopologyKept of a set that names a topology. Bound are the pods on nodes that were
// placed under another one.
func topologyKept(named string, gangs []*schedulerv1alpha1.PodGang, bound []string, generation int64) metav1.Condition {
	condition := metav1.Condition{
		Type: grovev1alpha1.ConditionTopologyKept, Status: metav1.ConditionFalse, ObservedGeneration: generation,
		Reason: grovev1alpha1.ReasonNamedTopologyInForce, Message: "every gang has the topology that the set names",
	}
	var kept, names []string
	for _, gang := range gangs {
		if keeps(gang, named) {
			names = append(names, gang.Name)
			kept = append(kept, gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology])
		}
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	switch {
	case named == "":
		condition.Message = "no topology constraint is in use"
	case len(names) > 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, grovev1alpha1.ReasonPodsScheduledBefore
		condition.Message = fmt.Sprintf(
			"the set names ClusterTopology %q, but PodGangs %s keep %s, under which pods were placed before they "+
				"could turn: %s; name %s again, or delete these pods",
			named, Few(names), Few(kept), Few(bound), Few(kept))
	}
	return condition
}
