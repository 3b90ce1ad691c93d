package conversion

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// asService says a component in the words of v1alpha1: what concerns its pods stands in the extra pod spec and
// metadata.
func asService(component v1beta1.ComponentSpec) v1alpha1.ServiceSpec {
	component = *component.DeepCopy()
	service := v1alpha1.ServiceSpec{
		Name:               component.Name,
		ComponentType:      component.Type,
		Replicas:           component.Replicas,
		MinAvailable:       component.MinAvailable,
		Multinode:          (*v1alpha1.Multinode)(component.Multinode),
		ExtraPodSpec:       extraPodSpec(component.PodTemplate.Spec),
		TopologyConstraint: constraintFromHub(component.TopologyConstraint),
	}
	addExtraMetadata(&service, &component.PodTemplate)
	if size := component.SharedMemorySize; size != nil {
		service.SharedMemory = &v1alpha1.SharedMemory{Size: size}
		if size.IsZero() {
			service.SharedMemory = &v1alpha1.SharedMemory{Disabled: true}
		}
	}
	if component.ScalingAdapter != nil {
		service.ScalingAdapter = &v1alpha1.ScalingAdapter{Enabled: true}
	}
	return service
}

func addExtraMetadata(service *v1alpha1.ServiceSpec, template *corev1.PodTemplateSpec) {
	service.SubComponentType = template.Labels[v1beta1.LabelSubComponentType]
	if service.SubComponentType != "" {
		delete(template.Labels, v1beta1.LabelSubComponentType)
	}
	if len(template.Labels)+len(template.Annotations) > 0 {
		service.ExtraPodMetadata = &v1alpha1.ExtraPodMetadata{Labels: template.Labels, Annotations: template.Annotations}
	}
}

func extraPodSpec(pod corev1.PodSpec) *v1alpha1.ExtraPodSpec {
	extra := &v1alpha1.ExtraPodSpec{}
	var beside []corev1.Container
	for i := range pod.Containers {
		if container := &pod.Containers[i]; container.Name == v1beta1.MainContainer && extra.MainContainer == nil {
			extra.MainContainer = container
			continue
		}
		beside = append(beside, pod.Containers[i])
	}
	if extra.MainContainer != nil {
		extra.MainContainer.Name = ""
	}
	pod.Containers = beside
	if !equality.Semantic.DeepEqual(pod, corev1.PodSpec{}) {
		extra.PodSpec = &pod
	}
	if extra.PodSpec == nil && (extra.MainContainer == nil || equality.Semantic.DeepEqual(*extra.MainContainer, corev1.Container{})) {
		return nil
	}
	return extra
}
