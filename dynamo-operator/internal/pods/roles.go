package pods

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// RoleTemplate is the template of one role of a multinode component; nil if the role has none.
func RoleTemplate(component *v1beta1.ComponentSpec, role string) *corev1.PodTemplateSpec {
	for i := range component.Roles {
		if component.Roles[i].Name == role && component.Roles[i].PodTemplate != nil {
			return component.Roles[i].PodTemplate
		}
	}
	if component.Multinode == nil {
		return nil
	}
	older := component.Multinode.Worker
	if role == v1beta1.RoleLeader {
		older = component.Multinode.Leader
	}
	if older == nil {
		return nil
	}
	return older.PodTemplate
}

// OfRole is a component for one of its roles: with the role's template laid over the component's.
func OfRole(component *v1beta1.ComponentSpec, role string) (*v1beta1.ComponentSpec, error) {
	own := RoleTemplate(component, role)
	if own == nil {
		return component, nil
	}
	written, err := json.Marshal(component.PodTemplate)
	if err != nil {
		return nil, fmt.Errorf("writing the pod template of %s: %w", component.Name, err)
	}
	over, err := json.Marshal(withoutContainers(own))
	if err != nil {
		return nil, fmt.Errorf("writing the pod template of role %s: %w", role, err)
	}
	laid, err := strategicpatch.StrategicMergePatch(written, over, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("laying the pod template of role %s over that of %s: %w", role, component.Name, err)
	}
	made := component.DeepCopy()
	made.PodTemplate = corev1.PodTemplateSpec{}
	if err := json.Unmarshal(laid, &made.PodTemplate); err != nil {
		return nil, fmt.Errorf("reading the pod template of role %s: %w", role, err)
	}
	return made, nil
}

// withoutContainers makes a template with no containers one without that field: Go writes null, which would remove the
// component's containers.
func withoutContainers(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if template.Spec.Containers == nil {
		template = template.DeepCopy()
		template.Spec.Containers = []corev1.Container{}
	}
	return template
}
