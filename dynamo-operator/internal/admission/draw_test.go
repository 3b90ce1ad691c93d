package admission_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func drawAlpha(t *rapid.T) *v1alpha1.DynamoGraphDeployment {
	deployment := &v1alpha1.DynamoGraphDeployment{ObjectMeta: drawMeta(t)}
	deployment.Spec.Services = v1alpha1.Services{}
	for i := range rapid.IntRange(0, 3).Draw(t, "services") {
		deployment.Spec.Services = append(deployment.Spec.Services, drawService(t, fmt.Sprintf("Service%d", i)))
	}
	spec := &deployment.Spec
	spec.Envs, spec.Labels, spec.Annotations = drawEnv(t), drawMap(t), drawMap(t)
	spec.BackendFramework = v1alpha1.BackendFramework(drawWord(t))
	spec.PriorityClassName = drawWord(t)
	spec.PVCs = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) v1alpha1.PersistentVolumeClaim {
		return v1alpha1.PersistentVolumeClaim{Name: drawWord(t), Create: maybe(t, rapid.Bool()),
			StorageClass: drawWord(t),
			Size:         drawQuantity(t)}
	}), 0, 2).Draw(t, "pvcs")
	if rapid.Bool().Draw(t, "restarts") {
		spec.Restart = &v1alpha1.Restart{ID: drawWord(t),
			Strategy: maybe(t, rapid.Just(v1alpha1.RestartStrategy{Type: "Sequential", Order: []string{"a"}}))}
	}
	if rapid.Bool().Draw(t, "constrained") {
		spec.TopologyConstraint = &v1alpha1.SpecTopologyConstraint{TopologyProfile: drawWord(t), PackDomain: "zone",
			PreferredDomain: v1alpha1.TopologyDomain(drawWord(t))}
	}
	deployment.Status = v1alpha1.DynamoGraphDeploymentStatus{
		ObservedGeneration: rapid.Int64Range(0, 9).Draw(t, "generation"),
		State:              v1alpha1.DeploymentState(drawWord(t)),
		Topology:           drawWord(t),
		Services:           map[string]v1alpha1.ServiceReplicaStatus{"a": {ComponentKind: drawWord(t), Replicas: 2}},
		Restart: maybe(t,
			rapid.Just(v1alpha1.RestartStatus{ObservedID: "x", Phase: "Completed", Restarted: []string{"a"}})),
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: drawWord(t)}},
	}
	return deployment
}

func drawService(t *rapid.T, name string) v1alpha1.ServiceSpec {
	service := v1alpha1.ServiceSpec{
		Name:             name,
		ComponentType:    drawWord(t),
		SubComponentType: drawWord(t),
		Replicas:         maybe(t, rapid.Int32Range(0, 5)),
		MinAvailable:     maybe(t, rapid.Int32Range(1, 5)),
		Multinode:        maybe(t, rapid.Just(v1beta1.Multinode{NodeCount: 4})),
		Envs:             drawEnv(t),
		EnvFromSecret:    maybe(t, rapid.Just("secret")),
		Labels:           drawMap(t),
		Annotations:      drawMap(t),
		LivenessProbe:    maybe(t, rapid.Just(corev1.Probe{PeriodSeconds: 3})),
		ReadinessProbe:   maybe(t, rapid.Just(corev1.Probe{PeriodSeconds: 4})),
		SharedMemory: maybe(t,
			rapid.Just(v1alpha1.SharedMemory{Disabled: rapid.Bool().Draw(t, "disabled"), Size: drawQuantity(t)})),
		ScalingAdapter:  maybe(t, rapid.Just(v1alpha1.ScalingAdapter{Enabled: rapid.Bool().Draw(t, "adapter")})),
		Autoscaling:     maybe(t, rapid.Just(runtime.RawExtension{Raw: []byte(`{"enabled":true,"max":"<5>"}`)})),
		Ingress:         maybe(t, rapid.Just(runtime.RawExtension{Raw: []byte(`{}`)})),
		DynamoNamespace: maybe(t, rapid.Just("namespace")),

		GlobalDynamoNamespace: maybe(t, rapid.Bool()),
		ModelRef:              maybe(t, rapid.Just(v1beta1.ModelReference{Name: "model", Revision: "v1"})),
		ServiceName:           drawWord(t),
		GPUMemoryService:      drawRaw(t),
		Failover:              drawRaw(t),
		Checkpoint:            drawRaw(t),
		LPX:                   drawRaw(t),
	}
	service.ComponentType = rapid.SampledFrom([]string{"", "worker", "prefill", "frontend", "a"}).Draw(t, "type")
	service.SubComponentType = rapid.SampledFrom([]string{"", "prefill", "decode", "encode"}).Draw(t, "sub type")
	if rapid.Bool().Draw(t, "has sidecar") {
		service.FrontendSidecar = &v1alpha1.FrontendSidecar{Image: "i", Envs: drawEnv(t),
			EnvFromSecret: maybe(t, rapid.Just("secret"))}
	}
	if rapid.Bool().Draw(t, "experiments") {
		service.Experimental = &v1beta1.ComponentExperimental{Checkpoint: drawRaw(t), FlagsInjection: drawRaw(t)}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "mounts") {
		service.VolumeMounts = append(service.VolumeMounts, v1alpha1.VolumeMount{
			Name: fmt.Sprintf("claim%d", i), MountPoint: drawWord(t), UseAsCompilationCache: maybe(t, rapid.Bool()),
		})
	}
	if rapid.Bool().Draw(t, "has resources") {
		service.Resources = &v1alpha1.Resources{
			Requests: maybe(t, rapid.Just(drawItem(t))), Limits: maybe(t, rapid.Just(drawItem(t))),
			Claims: rapid.SampledFrom([][]corev1.ResourceClaim{nil, {{Name: "gpu"}}}).Draw(t, "claims"),
		}
	}
	if rapid.Bool().Draw(t, "has mounts") {
		service.VolumeMounts = []v1alpha1.VolumeMount{
			{Name: "cache", MountPoint: "/cache", UseAsCompilationCache: maybe(t, rapid.Bool())},
		}
	}
	if rapid.Bool().Draw(t, "has metadata") {
		service.ExtraPodMetadata = &v1alpha1.ExtraPodMetadata{Labels: drawMap(t), Annotations: drawMap(t)}
	}
	if rapid.Bool().Draw(t, "has constraint") {
		service.TopologyConstraint = &v1alpha1.TopologyConstraint{PackDomain: "rack",
			PreferredDomain: v1alpha1.TopologyDomain(drawWord(t))}
	}
	if rapid.Bool().Draw(t, "has extra") {
		service.ExtraPodSpec = &v1alpha1.ExtraPodSpec{MainContainer: maybe(t, rapid.Just(drawContainer(t, "main")))}
		if rapid.Bool().Draw(t, "has spec") {
			spec := drawPodSpec(t)
			service.ExtraPodSpec.PodSpec = &spec
		}
	}
	return service
}

func drawItem(t *rapid.T) v1alpha1.ResourceItem {
	amount := rapid.SampledFrom([]string{"", "1", "1000m", "16Gi", "lots"})
	return v1alpha1.ResourceItem{
		CPU: amount.Draw(t, "cpu"), Memory: amount.Draw(t, "memory"), GPU: amount.Draw(t, "gpu"),
		GPUType: rapid.SampledFrom([]string{"", "amd.com/gpu", "nvidia.com/gpu"}).Draw(t, "gpu type"),
		Custom:  rapid.SampledFrom([]map[string]string{nil, {"rdma/ib": "1", "cpu": "3"}}).Draw(t, "custom"),
	}
}

func drawBeta(t *rapid.T) *v1beta1.DynamoGraphDeployment {
	deployment := &v1beta1.DynamoGraphDeployment{ObjectMeta: drawMeta(t)}
	deployment.Spec.Components = []v1beta1.ComponentSpec{}
	for i := range rapid.IntRange(0, 3).Draw(t, "components") {
		component := v1beta1.ComponentSpec{
			Name:             fmt.Sprintf("Component%d", i),
			Type:             rapid.SampledFrom([]string{"", "worker", "prefill", "frontend"}).Draw(t, "type"),
			PodTemplate:      corev1.PodTemplateSpec{ObjectMeta: drawMeta(t), Spec: drawPodSpec(t)},
			Replicas:         maybe(t, rapid.Int32Range(0, 5)),
			MinAvailable:     maybe(t, rapid.Int32Range(1, 5)),
			Multinode:        maybe(t, rapid.Just(v1beta1.Multinode{NodeCount: 2})),
			SharedMemorySize: drawQuantity(t),
			ScalingAdapter:   maybe(t, rapid.Just(v1beta1.ScalingAdapter{})),

			FrontendSidecar: maybe(t, rapid.SampledFrom([]string{v1beta1.FrontendSidecarContainer, "proxy"})),
			CompilationCache: maybe(t,
				rapid.Just(v1beta1.CompilationCache{PVCName: "cache", MountPath: drawWord(t)})),
			GlobalDynamoNamespace: rapid.Bool().Draw(t, "global"),
			LPX:                   drawRaw(t),
		}
		if rapid.Bool().Draw(t, "has constraint") {
			component.TopologyConstraint = &v1beta1.TopologyConstraint{PackDomain: "rack",
				PreferredDomain: v1beta1.TopologyDomain(drawWord(t))}
		}
		deployment.Spec.Components = append(deployment.Spec.Components, component)
	}
	deployment.Spec.Env, deployment.Spec.Labels = drawEnv(t), drawMap(t)
	if rapid.Bool().Draw(t, "constrained") {
		deployment.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{ClusterTopologyName: drawWord(t),
			PreferredDomain: "host"}
	}
	return deployment
}

func drawPodSpec(t *rapid.T) corev1.PodSpec {
	spec := corev1.PodSpec{
		NodeSelector:                  drawMap(t),
		SchedulerName:                 drawWord(t),
		HostNetwork:                   rapid.Bool().Draw(t, "host network"),
		TerminationGracePeriodSeconds: maybe(t, rapid.Just(int64(5))),
	}
	if rapid.Bool().Draw(t, "has volume") {
		spec.Volumes = []corev1.Volume{{Name: rapid.SampledFrom([]string{"cache", "other"}).Draw(t, "volume")}}
	}
	for _, name := range rapid.SliceOfNDistinct(
		rapid.SampledFrom([]string{"main", "proxy", v1beta1.FrontendSidecarContainer}), 0, 3, rapid.ID[string]).Draw(t,
		"containers") {
		spec.Containers = append(spec.Containers, drawContainer(t, name))
	}
	return spec
}

func drawContainer(t *rapid.T, name string) corev1.Container {
	container := corev1.Container{
		Name: name, Image: drawWord(t), Args: rapid.SampledFrom([][]string{nil, {"-m", "dynamo.vllm"}}).Draw(t, "args"),
		Env: drawEnv(t), LivenessProbe: maybe(t, rapid.Just(corev1.Probe{PeriodSeconds: 9})),
	}
	if rapid.Bool().Draw(t, "has limits") {
		container.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"),
			"cpu": resource.MustParse("2")}
	}
	return container
}

func drawMeta(t *rapid.T) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: drawWord(t), Labels: drawMap(t), Annotations: drawMap(t)}
}

func drawWord(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "b", "main"}).Draw(t, "word")
}

func drawMap(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", v1beta1.LabelSubComponentType}),
		rapid.SampledFrom([]string{"", "x", "prefill"}), 0, 3).Draw(t, "map")
}

func drawEnv(t *rapid.T) []corev1.EnvVar {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) corev1.EnvVar {
		return corev1.EnvVar{Name: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "name"), Value: drawWord(t)}
	}), 0, 3, func(v corev1.EnvVar) string { return v.Name }).Draw(t, "env")
}

// drawRaw has characters that JSON in an annotation escapes.
func drawRaw(t *rapid.T) *runtime.RawExtension {
	return maybe(t, rapid.Map(rapid.SampledFrom([]string{`{"enabled":true,"mode":"<a>"}`, `{"enabled":false}`, `{}`}),
		func(written string) runtime.RawExtension {
			return runtime.RawExtension{Raw: []byte(written)}
		}))
}

func drawQuantity(t *rapid.T) *resource.Quantity {
	return maybe(t, rapid.Map(rapid.SampledFrom([]string{"0", "8Gi", "1"}), resource.MustParse))
}

func maybe[T any](t *rapid.T, value *rapid.Generator[T]) *T {
	if !rapid.Bool().Draw(t, "set") {
		return nil
	}
	return new(value.Draw(t, "value"))
}
