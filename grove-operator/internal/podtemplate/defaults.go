package podtemplate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// withoutDefaults returns a copy of a pod spec without the fields that have the very value of Kubernetes' default. A
// default may be written by the user, by a newer schema of the API server, or by a newer operator: the pods are the
// same.
func withoutDefaults(spec *corev1.PodSpec) *corev1.PodSpec {
	bare := spec.DeepCopy()
	dropPodDefaults(bare)
	for i := range bare.Volumes {
		dropVolumeDefaults(&bare.Volumes[i].VolumeSource)
	}
	for _, containers := range [][]corev1.Container{bare.InitContainers, bare.Containers} {
		for i := range containers {
			dropContainerDefaults(&containers[i])
		}
	}
	return bare
}

func dropPodDefaults(spec *corev1.PodSpec) {
	drop(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	drop(&spec.DNSPolicy, corev1.DNSClusterFirst)
	drop(&spec.SchedulerName, corev1.DefaultSchedulerName)
	drop(&spec.DeprecatedServiceAccount, spec.ServiceAccountName)
	dropPointer(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	dropPointer(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	dropPointer(&spec.PreemptionPolicy, corev1.PreemptLowerPriority)
	if apiequality.Semantic.DeepEqual(spec.SecurityContext, &corev1.PodSecurityContext{}) {
		spec.SecurityContext = nil
	}
}

func dropContainerDefaults(container *corev1.Container) {
	drop(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	drop(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	drop(&container.ImagePullPolicy, defaultPullPolicy(container.Image))
	for i := range container.Ports {
		drop(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		if from := container.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			drop(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		dropProbeDefaults(probe)
	}
	if container.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{container.Lifecycle.PostStart, container.Lifecycle.PreStop} {
			if hook != nil {
				dropHTTPDefaults(hook.HTTPGet)
			}
		}
	}
	if apiequality.Semantic.DeepEqual(container.SecurityContext, &corev1.SecurityContext{}) {
		container.SecurityContext = nil
	}
	dropRequestsThatAreLimits(&container.Resources)
}

// defaultPullPolicy is the pull policy of an image if the container has none.
func defaultPullPolicy(image string) corev1.PullPolicy {
	name, _, digested := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if digested && !tagged || tagged && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func dropProbeDefaults(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	drop(&probe.TimeoutSeconds, 1)
	drop(&probe.PeriodSeconds, 10)
	drop(&probe.SuccessThreshold, 1)
	drop(&probe.FailureThreshold, 3)
	dropHTTPDefaults(probe.HTTPGet)
	if probe.GRPC != nil {
		dropPointer(&probe.GRPC.Service, "")
	}
}

func dropHTTPDefaults(get *corev1.HTTPGetAction) {
	if get != nil {
		drop(&get.Scheme, corev1.URISchemeHTTP)
		drop(&get.Path, "/")
	}
}

// dropRequestsThatAreLimits: a limit without a request is a request as well.
func dropRequestsThatAreLimits(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if request, ok := resources.Requests[name]; ok && request.Cmp(limit) == 0 {
			delete(resources.Requests, name)
		}
	}
}

func dropVolumeDefaults(volume *corev1.VolumeSource) {
	if volume.Secret != nil {
		dropPointer(&volume.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if volume.ConfigMap != nil {
		dropPointer(&volume.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if volume.HostPath != nil {
		dropPointer(&volume.HostPath.Type, corev1.HostPathUnset)
	}
	if volume.DownwardAPI != nil {
		dropPointer(&volume.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		dropFieldDefaults(volume.DownwardAPI.Items)
	}
	if volume.Projected == nil {
		return
	}
	dropPointer(&volume.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range volume.Projected.Sources {
		source := &volume.Projected.Sources[i]
		if source.ServiceAccountToken != nil {
			dropPointer(&source.ServiceAccountToken.ExpirationSeconds, 60*60)
		}
		if source.DownwardAPI != nil {
			dropFieldDefaults(source.DownwardAPI.Items)
		}
	}
}

func dropFieldDefaults(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		if files[i].FieldRef != nil {
			drop(&files[i].FieldRef.APIVersion, "v1")
		}
	}
}

func drop[T comparable](field *T, standard T) {
	if *field == standard {
		*field = *new(T)
	}
}

func dropPointer[T comparable](field **T, standard T) {
	if *field != nil && **field == standard {
		*field = nil
	}
}
