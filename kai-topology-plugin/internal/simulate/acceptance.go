package simulate

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// acceptance knows which nodes accept which pods, as far as cordons, taints, selectors and affinity say. Nodes do not
// change.
type acceptance struct {
	nodes []*corev1.Node
	// plain is set if every node accepts every pod that does not choose.
	plain   bool
	classes map[string]*class
}

// class is pods that the same nodes accept.
type class struct {
	pod *corev1.Pod
	// chooses is set if it has a node selector or affinity.
	chooses bool
	// accepts has, once it is asked for, what each node says.
	accepts []bool
}

func newAcceptance(nodes []*corev1.Node) acceptance {
	return acceptance{
		nodes: nodes, classes: map[string]*class{},
		plain: !slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
			return len(node.Spec.Taints) > 0 || node.Spec.Unschedulable
		}),
	}
}

// classesOf are those of some pods, each once.
func (a *acceptance) classesOf(pods []*corev1.Pod) (classes []*class, err error) {
	for _, pod := range pods {
		chooses := len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil
		key := ""
		if chooses || len(pod.Spec.Tolerations) > 0 {
			text, err := json.Marshal([]any{pod.Spec.NodeSelector, pod.Spec.Affinity, pod.Spec.Tolerations})
			if err != nil {
				return nil, err
			}
			key = string(text)
		}
		known := a.classes[key]
		if known == nil {
			known = &class{pod: pod.DeepCopy(), chooses: chooses}
			a.classes[key] = known
		}
		if !slices.Contains(classes, known) {
			classes = append(classes, known)
		}
	}
	return classes, nil
}

// odd returns which nodes none of those who wait may use; nil if there are no such nodes.
func (a *acceptance) odd(waiting []*run) func(node int) bool {
	var classes []*class
	seen := map[*class]bool{}
	for _, r := range waiting {
		for _, class := range r.size.classes {
			if !class.chooses && a.plain {
				return nil
			}
			if !seen[class] {
				seen[class] = true
				classes = append(classes, class)
			}
		}
	}
	return func(node int) bool {
		return !slices.ContainsFunc(classes, func(class *class) bool { return class.on(a.nodes)[node] })
	}
}

func (c *class) on(nodes []*corev1.Node) []bool {
	if c.accepts == nil {
		c.accepts = make([]bool, len(nodes))
		for i, node := range nodes {
			c.accepts[i] = kubeframework.Accepts(node, c.pod)
		}
	}
	return c.accepts
}
