package place

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
)

func printJSON(w io.Writer, _ *input, decided *result) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(decided)
}

// printYAML prints the pods that have a node, in the order of the input: those that ran before, and those that are placed
// now. Together with the nodes it is the input of a next decision.
func printYAML(w io.Writer, in *input, _ *result) error {
	var placed []runtime.Object
	for i, pod := range in.pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		printed := in.written[i].DeepCopy()
		if err := unstructured.SetNestedField(printed.Object, pod.Spec.NodeName, "spec", "nodeName"); err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		placed = append(placed, printed)
	}
	return manifests.Write(w, manifests.YAML, placed)
}
