package solve

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/packing"
)

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
