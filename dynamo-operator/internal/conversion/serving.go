package conversion

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// sidecarContainer is the container, as v1beta1 has it in the pod template, that v1alpha1 describes.
func sidecarContainer(sidecar *v1alpha1.FrontendSidecar) corev1.Container {
	container := corev1.Container{
		Name: v1beta1.FrontendSidecarContainer, Image: sidecar.Image, Args: sidecar.Args, Env: sidecar.Envs,
	}
	if sidecar.EnvFromSecret != nil {
		container.EnvFrom = []corev1.EnvFromSource{envFrom(*sidecar.EnvFromSecret)}
	}
	return container
}

// takeSidecar takes the frontend beside main out of a component's pod template, if v1alpha1 can describe it.
func takeSidecar(component *v1beta1.ComponentSpec) *v1alpha1.FrontendSidecar {
	if component.FrontendSidecar == nil || *component.FrontendSidecar != v1beta1.FrontendSidecarContainer {
		return nil
	}
	containers := component.PodTemplate.Spec.Containers
	last := len(containers) - 1
	if last < 0 || containers[last].Name != v1beta1.FrontendSidecarContainer {
		return nil
	}
	sidecar := &v1alpha1.FrontendSidecar{Image: containers[last].Image, Args: containers[last].Args,
		Envs: containers[last].Env}
	if from := containers[last].EnvFrom; len(from) == 1 && from[0].SecretRef != nil {
		sidecar.EnvFromSecret = new(from[0].SecretRef.Name)
	}
	if !equality.Semantic.DeepEqual(sidecarContainer(sidecar), containers[last]) {
		return nil
	}
	component.PodTemplate.Spec.Containers = slices.Clone(containers[:last])
	return sidecar
}

func envFrom(secret string) corev1.EnvFromSource {
	return corev1.EnvFromSource{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}},
	}
}

// experimentalToHub adds the features that v1alpha1 had before it had experimental, unless experimental has them
// itself.
func experimentalToHub(service *v1alpha1.ServiceSpec) *v1beta1.ComponentExperimental {
	experimental := service.Experimental
	if experimental == nil {
		experimental = &v1beta1.ComponentExperimental{}
	}
	for _, feature := range []struct {
		older *runtime.RawExtension
		to    **runtime.RawExtension
	}{
		{service.GPUMemoryService, &experimental.GPUMemoryService},
		{service.Failover, &experimental.Failover},
		{service.Checkpoint, &experimental.Checkpoint},
	} {
		if *feature.to == nil && enabled(feature.older) {
			*feature.to = feature.older
		}
	}
	if service.Experimental == nil && *experimental == (v1beta1.ComponentExperimental{}) {
		return nil
	}
	return experimental
}

// enabled reports whether the older form of a feature, which has a field for that, is switched on.
func enabled(feature *runtime.RawExtension) bool {
	if feature == nil {
		return false
	}
	var written struct {
		Enabled bool `json:"enabled"`
	}
	return json.Unmarshal(feature.Raw, &written) == nil && written.Enabled
}
