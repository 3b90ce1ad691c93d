package conversion

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const defaultGPU corev1.ResourceName = "nvidia.com/gpu"

// asComponent converts a service to a component of v1beta1. Malformed amounts are left out; admission names them.
func asComponent(service *v1alpha1.ServiceSpec) v1beta1.ComponentSpec {
	service = service.DeepCopy()
	component := v1beta1.ComponentSpec{
		Name:                   service.Name,
		Type:                   typeOf(service),
		PodTemplate:            podTemplate(service),
		Replicas:               service.Replicas,
		MinAvailable:           service.MinAvailable,
		Multinode:              service.Multinode,
		SharedMemorySize:       sharedMemorySize(service.SharedMemory),
		ScalingAdapter:         scalingAdapterToHub(service.ScalingAdapter),
		TopologyConstraint:     constraintToHub(service.TopologyConstraint),
		TopologySpread:         service.TopologySpread,
		Roles:                  service.Roles,
		ModelRef:               service.ModelRef,
		GlobalDynamoNamespace:  service.GlobalDynamoNamespace != nil && *service.GlobalDynamoNamespace,
		CompilationCache:       compilationCache(service.VolumeMounts),
		EPPConfig:              service.EPPConfig,
		DynamoSidecar:          service.DynamoSidecar,
		RuntimeVersionOverride: service.RuntimeVersionOverride,
		ProviderOverride:       service.ProviderOverride,
		Experimental:           experimentalToHub(service),
		LPX:                    service.LPX,
	}
	if service.FrontendSidecar != nil {
		component.FrontendSidecar = new(v1beta1.FrontendSidecarContainer)
	}
	return component
}

// typeOf is the type of a service in v1beta1, where a worker's part in disaggregated serving is a type of its own.
func typeOf(service *v1alpha1.ServiceSpec) string {
	if promoted(service.ComponentType, service.SubComponentType) {
		return service.SubComponentType
	}
	return service.ComponentType
}

func promoted(componentType, subType string) bool {
	return componentType == v1beta1.TypeWorker && (subType == v1beta1.TypePrefill || subType == v1beta1.TypeDecode)
}

func podTemplate(service *v1alpha1.ServiceSpec) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{}
	extra := service.ExtraPodSpec
	if extra != nil && extra.PodSpec != nil {
		template.Spec = *extra.PodSpec
	}
	main := corev1.Container{}
	if extra != nil && extra.MainContainer != nil {
		main = *extra.MainContainer
	}
	main.Name = v1beta1.MainContainer
	addShortFields(&main, service)
	addClaims(&template.Spec, &main, service.VolumeMounts)
	template.Spec.Containers = append([]corev1.Container{main}, template.Spec.Containers...)
	if sidecar := service.FrontendSidecar; sidecar != nil {
		template.Spec.Containers = append(template.Spec.Containers, sidecarContainer(sidecar))
	}
	addMetadata(&template, service)
	return template
}

func addMetadata(template *corev1.PodTemplateSpec, service *v1alpha1.ServiceSpec) {
	template.Labels = laidOver(template.Labels, service.Labels)
	template.Annotations = laidOver(template.Annotations, service.Annotations)
	if service.SubComponentType != "" && !promoted(service.ComponentType, service.SubComponentType) {
		subType := map[string]string{v1beta1.LabelSubComponentType: service.SubComponentType}
		template.Labels = laidOver(template.Labels, subType)
	}
	if extra := service.ExtraPodMetadata; extra != nil {
		template.Labels = laidOver(template.Labels, extra.Labels)
		template.Annotations = laidOver(template.Annotations, extra.Annotations)
	}
}

func laidOver(below, above map[string]string) map[string]string {
	if len(above) > 0 && below == nil {
		below = make(map[string]string, len(above))
	}
	maps.Copy(below, above)
	return below
}

// addShortFields fills the fields that a service has for its main container into the fields that the container leaves
// open.
func addShortFields(main *corev1.Container, service *v1alpha1.ServiceSpec) {
	main.Env = withEnv(service.Envs, main.Env)
	if service.EnvFromSecret != nil {
		main.EnvFrom = append(main.EnvFrom, envFrom(*service.EnvFromSecret))
	}
	if main.LivenessProbe == nil {
		main.LivenessProbe = service.LivenessProbe
	}
	if main.ReadinessProbe == nil {
		main.ReadinessProbe = service.ReadinessProbe
	}
	if service.Resources != nil {
		addResources(&main.Resources, service.Resources)
	}
}

// withEnv puts the defaults that env does not set before it, so that env can refer to them.
func withEnv(defaults, env []corev1.EnvVar) []corev1.EnvVar {
	set := map[string]bool{}
	for _, variable := range env {
		set[variable.Name] = true
	}
	var all []corev1.EnvVar
	for _, variable := range defaults {
		if !set[variable.Name] {
			all = append(all, variable)
		}
	}
	return append(all, env...)
}

func addResources(to *corev1.ResourceRequirements, from *v1alpha1.Resources) {
	to.Requests = withAmounts(to.Requests, from.Requests)
	to.Limits = withAmounts(to.Limits, from.Limits)
	for _, claim := range from.Claims {
		if !slices.ContainsFunc(to.Claims, func(c corev1.ResourceClaim) bool { return c.Name == claim.Name }) {
			to.Claims = append(to.Claims, claim)
		}
	}
}

func withAmounts(to corev1.ResourceList, from *v1alpha1.ResourceItem) corev1.ResourceList {
	if from == nil {
		return to
	}
	amounts := map[corev1.ResourceName]string{}
	for name, amount := range from.Custom {
		amounts[corev1.ResourceName(name)] = amount
	}
	gpu := defaultGPU
	if from.GPUType != "" {
		gpu = corev1.ResourceName(from.GPUType)
	}
	for name, amount := range map[corev1.ResourceName]string{
		corev1.ResourceCPU: from.CPU, corev1.ResourceMemory: from.Memory, gpu: from.GPU,
	} {
		if amount != "" {
			amounts[name] = amount
		}
	}
	for name, amount := range amounts {
		quantity, err := resource.ParseQuantity(amount)
		if _, set := to[name]; set || err != nil {
			continue
		}
		if to == nil {
			to = corev1.ResourceList{}
		}
		to[name] = quantity
	}
	return to
}

// addClaims mounts claims, as volumes of the same name, except the claim of the compilation cache.
func addClaims(pod *corev1.PodSpec, main *corev1.Container, mounts []v1alpha1.VolumeMount) {
	cache := cacheMount(mounts)
	for i, mount := range mounts {
		if i == cache {
			continue
		}
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: mount.Name, MountPath: mount.MountPoint})
		if slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			continue
		}
		pod.Volumes = append(pod.Volumes, corev1.Volume{
			Name: mount.Name,
			VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: mount.Name},
			},
		})
	}
}

// cacheMount is the index of the first mount that is to be the compilation cache; -1 if there is none.
func cacheMount(mounts []v1alpha1.VolumeMount) int {
	return slices.IndexFunc(mounts, func(mount v1alpha1.VolumeMount) bool {
		return mount.UseAsCompilationCache != nil && *mount.UseAsCompilationCache
	})
}

func compilationCache(mounts []v1alpha1.VolumeMount) *v1beta1.CompilationCache {
	at := cacheMount(mounts)
	if at < 0 {
		return nil
	}
	return &v1beta1.CompilationCache{PVCName: mounts[at].Name, MountPath: mounts[at].MountPoint}
}

func sharedMemorySize(shared *v1alpha1.SharedMemory) *resource.Quantity {
	switch {
	case shared == nil:
		return nil
	case shared.Disabled:
		return resource.NewQuantity(0, resource.BinarySI)
	default:
		return shared.Size
	}
}

func scalingAdapterToHub(adapter *v1alpha1.ScalingAdapter) *v1beta1.ScalingAdapter {
	if adapter == nil || !adapter.Enabled {
		return nil
	}
	return &v1beta1.ScalingAdapter{}
}
