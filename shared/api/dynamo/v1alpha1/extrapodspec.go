package v1alpha1

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
)

// MarshalJSON leaves out what a pod spec must have but an extra one need not: its containers, and the name and
// resources of the main container. Without it a service would read back with fields that its user did not write.
func (e ExtraPodSpec) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	if e.PodSpec != nil {
		podSpec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.PodSpec)
		if err != nil {
			return nil, err
		}
		if len(e.Containers) == 0 {
			delete(podSpec, "containers")
		}
		fields = podSpec
	}
	if e.MainContainer != nil {
		container, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.MainContainer)
		if err != nil {
			return nil, err
		}
		if e.MainContainer.Name == "" {
			delete(container, "name")
		}
		if resources, ok := container["resources"].(map[string]any); ok && len(resources) == 0 {
			delete(container, "resources")
		}
		fields["mainContainer"] = container
	}
	return json.Marshal(fields)
}
