package place

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/manifests"
)

func printJSON(w io.Writer, _ *inventory.Inventory, decided *Result) error {
	return WriteJSON(w, decided)
}

// WriteJSON writes a value for programs and people.
func WriteJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printYAML prints the pods that have a node, running or placed now, in the order of the input. Together with the nodes
// it is the input of a next decision.
func printYAML(w io.Writer, in *inventory.Inventory, _ *Result) error {
	var placed []runtime.Object
	for _, pod := range in.Pods {
		written, ok := in.Written[pod]
		if !ok || pod.Spec.NodeName == "" {
			continue
		}
		printed := written.DeepCopy()
		if err := unstructured.SetNestedField(printed.Object, pod.Spec.NodeName, "spec", "nodeName"); err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		placed = append(placed, printed)
	}
	return manifests.Write(w, manifests.YAML, placed)
}
