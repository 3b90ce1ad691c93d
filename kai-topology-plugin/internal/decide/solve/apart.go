package solve

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/packing"
)

// apart is the anti-affinity by node among the pods of the gang, in words that the engine knows: resources of which
// each node offers so many. What it can say in this way the engine gets right at once, and proves impossible where it
// is.
type apart struct {
	offered packing.Resources
	// asked is by the name of the pod.
	asked map[string]packing.Resources
}

// apartBy puts each rule by which pods keep off the nodes of others, and of their own like, into a resource: who has
// the rule takes all that a node offers, and who is only kept off takes one. Where those who have a rule are not
// among those that it keeps off, no resource says so.
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
