// Package shapes reads the gangs that people ask about by name, so that it can be counted how many more of them fit.
package shapes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/shared/packing"
)

// Named is a shape that somebody asks about.
type Named struct {
	// Name is what it is called in metrics: lower case letters, digits and dashes.
	Name string `json:"name"`
	// Pods is how many pods a gang has; Resources is what each requests.
	Pods      int64               `json:"pods"`
	Resources corev1.ResourceList `json:"resources"`
	// RequiredLevel is the node label key of the level in one domain of which the gang has to stand; unset, it may
	// stand anywhere.
	RequiredLevel string `json:"requiredLevel,omitempty"`
	// NodeSelector are labels that the nodes have to have; unset, none. Taints are tolerated.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// shape returns the shape of what is valid.
func (n *Named) shape() (capacity.Shape, error) {
	requests, err := n.requests()
	if err != nil {
		return capacity.Shape{}, err
	}
	selected := labels.SelectorFromSet(n.NodeSelector)
	return capacity.Shape{
		Name: n.Name, Pods: n.Pods, Requests: requests, RequiredLevel: n.RequiredLevel,
		Takes: func(node *corev1.Node) bool { return selected.Matches(labels.Set(node.Labels)) },
	}, nil
}

// requests returns what a pod of the shape takes of a node.
func (n *Named) requests() (packing.Resources, error) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: n.Resources}}}
	return kubeframework.Requests(pod)
}

// Asks is what the gangs of the shape ask for, as Form has it, without the name.
func (n *Named) Asks() (string, error) {
	requests, err := n.requests()
	if err != nil {
		return "", err
	}
	asks := fmt.Sprintf("%d x %s", n.Pods, amounts(requests))
	if n.RequiredLevel != "" {
		asks += " in one " + n.RequiredLevel
	}
	for _, key := range slices.Sorted(maps.Keys(n.NodeSelector)) {
		asks += fmt.Sprintf(" on %s=%s", key, n.NodeSelector[key])
	}
	return asks, nil
}

// amounts is as people write requests: sorted, without the pod itself.
func amounts(requests packing.Resources) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if amount := requests[name]; amount > 0 && name != kubeframework.ResourcePods {
			texts = append(texts, name+"="+quantity(name, amount))
		}
	}
	return strings.Join(texts, ",")
}

func quantity(name string, amount int64) string {
	switch {
	case name == string(corev1.ResourceCPU):
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case name == string(corev1.ResourceMemory), name == string(corev1.ResourceEphemeralStorage),
		strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return resource.NewQuantity(amount, resource.BinarySI).String()
	default:
		return resource.NewQuantity(amount, resource.DecimalSI).String()
	}
}
