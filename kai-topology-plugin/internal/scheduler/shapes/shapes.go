// Package shapes reads the gangs that people ask about by name, so that it can be counted how many more of them fit.
package shapes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
)

// maxNamed is how many shapes may be named: each is a series for every domain.
const maxNamed = 16

// Named is a shape from the configuration.
type Named struct {
	// Name is what it is called in metrics: lower case letters, digits and dashes.
	Name string `json:"name"`
	// Pods is how many pods a gang has; Resources is what each requests.
	Pods      int64               `json:"pods"`
	Resources corev1.ResourceList `json:"resources"`
	// RequiredLevel is the node label key of the level that the gang needs one domain of; unset, it may stand anywhere.
	RequiredLevel string `json:"requiredLevel,omitempty"`
	// NodeSelector are labels that the nodes have to have; unset, none. Taints are tolerated.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// FromConfiguration returns the configured shapes. The error has the path of the wrong field, relative to the list.
func FromConfiguration(named []Named) ([]capacity.Shape, error) {
	if len(named) > maxNamed {
		return nil, fmt.Errorf("shapes: at most %d may be named, not %d", maxNamed, len(named))
	}
	var found []capacity.Shape
	for i := range named {
		if wrong := named[i].wrong(named[:i]); wrong != "" {
			return nil, fmt.Errorf("shapes[%d].%s", i, wrong)
		}
		shape, err := named[i].shape()
		if err != nil {
			return nil, fmt.Errorf("shapes[%d].resources: %w", i, err)
		}
		found = append(found, shape)
	}
	return found, nil
}

// wrong says what is wrong with a shape among those before it, and where; empty if nothing is.
func (n *Named) wrong(before []Named) string {
	if faults := validation.IsDNS1123Label(n.Name); len(faults) > 0 {
		return "name: " + strings.Join(faults, "; ")
	}
	if slices.ContainsFunc(before, func(other Named) bool { return other.Name == n.Name }) {
		return fmt.Sprintf("name: %s is named already", n.Name)
	}
	if n.Pods < 1 {
		return fmt.Sprintf("pods: must be at least 1, not %d", n.Pods)
	}
	if len(n.Resources) == 0 {
		return "resources: must have at least one, such as cpu"
	}
	for _, name := range slices.Sorted(maps.Keys(n.Resources)) {
		if amount := n.Resources[name]; amount.Sign() <= 0 {
			return fmt.Sprintf("resources.%s: must be above 0, not %s", name, amount.String())
		}
	}
	return ""
}

// shape returns the shape of what is valid.
func (n *Named) shape() (capacity.Shape, error) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: n.Resources}}}
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return capacity.Shape{}, err
	}
	selected := labels.SelectorFromSet(n.NodeSelector)
	return capacity.Shape{
		Name: n.Name, Pods: n.Pods, Requests: requests, RequiredLevel: n.RequiredLevel,
		Takes: func(node *corev1.Node) bool { return selected.Matches(labels.Set(node.Labels)) },
	}, nil
}
