package solve

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/packing"
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
		for key := range eligibility.OwnRules(pod) {
			found.labels.Insert(key)
		}
	}
	return found
}

// apart is the anti-affinity by node among the gang's pods as resources with a fixed number of units per node. The
// engine counts these exactly and can prove that a placement is impossible.
type apart struct {
	offered packing.Resources
	// asked is by the name of the pod.
	asked map[string]packing.Resources
}

// apartBy turns each anti-affinity rule that keeps pods off the nodes of others and of their own kind into a resource:
// a pod with the rule takes all units of a node, and a pod that is only kept off takes one. A rule that does not keep
// off the pods that have it has no such resource.
func (r *replay) apartBy(pods []*corev1.Pod) (apart, error) {
	found := apart{offered: packing.Resources{}, asked: map[string]packing.Resources{}}
	for _, node := range r.request.Nodes {
		if _, ok := node.Node().Labels[corev1.LabelHostname]; !ok {
			return found, nil // The rules do not hold on such a node.
		}
	}
	repulsions, err := kubeframework.Repulsions(pods, corev1.LabelHostname)
	if err != nil {
		return found, fmt.Errorf("reading the anti-affinity of the gang's pods: %w", err)
	}
	for _, repulsion := range repulsions {
		if !repulsion.Mutual() {
			continue
		}
		resource := "node by pod anti-affinity"
		if others := len(found.offered); others > 0 {
			resource += fmt.Sprintf(" (rule %d)", others+1)
		}
		all := int64(1 + len(repulsion.Repelled) - len(repulsion.Owners))
		found.offered[resource] = all
		for name := range repulsion.Repelled {
			amount := int64(1)
			if repulsion.Owners.Has(name) {
				amount = all
			}
			if found.asked[name] == nil {
				found.asked[name] = packing.Resources{}
			}
			found.asked[name][resource] = amount
		}
	}
	return found, nil
}
