package plugin

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/plans"
)

// levelKeys are the keys of the node labels that tell the domains of a gang's topologies.
func (p *Plugin) levelKeys(assembled *gang.Gang) []string {
	var keys []string
	for _, topology := range assembled.Topologies() {
		levels, _ := p.levels(topology)
		keys = append(keys, levels...)
	}
	return keys
}

// misplaced says why a pod of a gang cannot be bound to the node that it was put on, empty if it can: between its plan and its
// binding the node was deleted, or has got into another domain. The pod loses its seat there and is planned anew.
func (p *Plugin) misplaced(pod *corev1.Pod, name string) string {
	key, member := gang.KeyOf(p.latest(pod))
	if !member {
		return ""
	}
	planned, known := p.book.Place(key, pod.UID)
	if !known {
		return ""
	}
	node, err := p.nodes.Get(name)
	reason := ""
	switch {
	case apierrors.IsNotFound(err):
		reason = fmt.Sprintf("node %s was deleted", name)
	case err != nil:
		reason = fmt.Sprintf("reading node %s: %v", name, err)
	case !planned.Is(node.Labels):
		reason = fmt.Sprintf("node %s is in another domain than when the pod was planned", name)
	}
	if reason != "" {
		p.book.Refuse(key, pod.UID)
	}
	return reason
}

// placesHandler breaks the plans that count on a node which is deleted, or gets into another domain.
func (p *Plugin) placesHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			node := after.(*corev1.Node)
			if maps.Equal(before.(*corev1.Node).Labels, node.Labels) {
				return
			}
			p.breakPlansOn(node.Name, "is in another domain than when it was planned for",
				func(place plans.Place) bool { return place.Is(node.Labels) })
		},
		DeleteFunc: func(object any) {
			if node, ok := objectOf[*corev1.Node](object); ok {
				p.breakPlansOn(node.Name, "was deleted", func(plans.Place) bool { return false })
			}
		},
	}
}

func (p *Plugin) breakPlansOn(node, what string, stands func(plans.Place) bool) {
	for _, key := range p.book.Misplaced(node, stands) {
		p.breakPlan(key, metrics.NodeChanged, fmt.Sprintf("node %s %s", node, what))
		p.wake(key)
	}
}
