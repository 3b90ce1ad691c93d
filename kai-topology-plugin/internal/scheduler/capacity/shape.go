package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

// maxShapes is how many shapes may be configured: each is a series for every domain.
const maxShapes = 16

// Shape is what gangs that are alike ask for: so many alike pods, all of them in one domain of a level. It is written
// in the configuration.
type Shape struct {
	// Name is what it is called in metrics: lower case letters, digits and dashes.
	Name string `json:"name"`
	// Pods is how many pods a gang has; Resources is what each requests.
	Pods      int64               `json:"pods"`
	Resources corev1.ResourceList `json:"resources"`
	// RequiredLevel is the node label key of the level that the gang needs one domain of; unset, it may stand anywhere.
	RequiredLevel string `json:"requiredLevel,omitempty"`
	// NodeSelector are labels that the nodes have to have; unset, none. Taints are tolerated, but for those of nodes out
	// of service.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// CheckShapes returns what is wrong with configured shapes, with the path of the wrong field.
func CheckShapes(shapes []Shape) error {
	if len(shapes) > maxShapes {
		return fmt.Errorf("shapes: at most %d may be named, not %d", maxShapes, len(shapes))
	}
	for i := range shapes {
		if wrong := shapes[i].wrong(shapes[:i]); wrong != "" {
			return fmt.Errorf("shapes[%d].%s", i, wrong)
		}
	}
	return nil
}

// wrong says what is wrong with a shape among those before it, and where; empty if nothing is.
func (s *Shape) wrong(before []Shape) string {
	if faults := validation.IsDNS1123Label(s.Name); len(faults) > 0 {
		return "name: " + strings.Join(faults, "; ")
	}
	if slices.ContainsFunc(before, func(other Shape) bool { return other.Name == s.Name }) {
		return fmt.Sprintf("name: %s is named already", s.Name)
	}
	if s.Pods < 1 {
		return fmt.Sprintf("pods: must be at least 1, not %d", s.Pods)
	}
	if len(s.Resources) == 0 {
		return "resources: must have at least one, such as cpu"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Resources)) {
		if amount := s.Resources[name]; amount.Sign() <= 0 {
			return fmt.Sprintf("resources.%s: must be above 0, not %s", name, amount.String())
		}
	}
	return ""
}

// asked is a pod of the shape for the engine. Nodes that are cordoned or out of service take none.
func (s *Shape) asked(trial *clusterview.Trial) *packing.Shape {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: s.Resources}}}
	requests, _ := kubeframework.Requests(pod) // Only a pod with an affinity can be wrong.
	selected := labels.SelectorFromSet(s.NodeSelector)
	return &packing.Shape{
		Key: "slots of " + s.Name, Requests: requests,
		Excluded: func(name string) string {
			node := trial.Node(name).Node()
			if nodes.Schedulable(node) && selected.Matches(labels.Set(node.Labels)) {
				return ""
			}
			return "it takes no pods of the shape"
		},
	}
}
