package conversion

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// asService converts a component to a service of v1alpha1: the fields of its pods go to the extra pod spec and
// metadata.
func asService(component v1beta1.ComponentSpec) v1alpha1.ServiceSpec {
	component = *component.DeepCopy()
	service := v1alpha1.ServiceSpec{
		Name:                   component.Name,
		Replicas:               component.Replicas,
		MinAvailable:           component.MinAvailable,
		Multinode:              component.Multinode,
		TopologyConstraint:     constraintFromHub(component.TopologyConstraint),
		TopologySpread:         component.TopologySpread,
		Roles:                  component.Roles,
		ModelRef:               component.ModelRef,
		EPPConfig:              component.EPPConfig,
		DynamoSidecar:          component.DynamoSidecar,
		RuntimeVersionOverride: component.RuntimeVersionOverride,
		ProviderOverride:       component.ProviderOverride,
		Experimental:           component.Experimental,
		LPX:                    component.LPX,
	}
	service.FrontendSidecar = takeSidecar(&component)
	service.ExtraPodSpec = extraPodSpec(component.PodTemplate.Spec)
	setType(&service, component.Type)
	addExtraMetadata(&service, &component.PodTemplate)
	if component.GlobalDynamoNamespace {
		service.GlobalDynamoNamespace = new(true)
	}
	if cache := component.CompilationCache; cache != nil {
		service.VolumeMounts = []v1alpha1.VolumeMount{
			{Name: cache.PVCName, MountPoint: cache.MountPath, UseAsCompilationCache: new(true)},
		}
	}
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

// setType sets the two fields of v1alpha1 that correspond to a type of v1beta1.
func setType(service *v1alpha1.ServiceSpec, componentType string) {
	service.ComponentType = componentType
	if promoted(v1beta1.TypeWorker, componentType) {
		service.ComponentType, service.SubComponentType = v1beta1.TypeWorker, componentType
	}
}

// addExtraMetadata turns the label of a worker's part into the field, unless the field means more than the label.
func addExtraMetadata(service *v1alpha1.ServiceSpec, template *corev1.PodTemplateSpec) {
	if part := template.Labels[v1beta1.LabelSubComponentType]; service.SubComponentType == "" && part != "" &&
		!promoted(service.ComponentType, part) {
		service.SubComponentType = part
		delete(template.Labels, v1beta1.LabelSubComponentType)
	}
	if len(template.Labels)+len(template.Annotations) > 0 {
		service.ExtraPodMetadata = &v1alpha1.ExtraPodMetadata{Labels: template.Labels,
			Annotations: template.Annotations}
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
	if extra.PodSpec == nil &&
		(extra.MainContainer == nil || equality.Semantic.DeepEqual(*extra.MainContainer, corev1.Container{})) {
		return nil
	}
	return extra
}
