package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	// SharedMemoryVolume is the name of the volume that is mounted as shared memory. The main container may mount it
	// elsewhere.
	SharedMemoryVolume = "shared-memory"

	sharedMemoryPath         = "/dev/shm"
	defaultSharedMemoryBytes = 8 << 30

	pickerConfigVolume = "epp-config"
	pickerConfigPath   = "/etc/epp"
	modelCacheVolume   = "hf-cache"
	modelCachePath     = "/home/nonroot/.cache"

	// PickerConfigKey is the key of an endpoint picker's configuration in its ConfigMap, and the name of the file.
	PickerConfigKey = "epp-config-dynamo.yaml"
	// PoolGroup is the API group of InferencePools.
	PoolGroup = "inference.networking.k8s.io"
)

func addVolume(pod *corev1.PodSpec, name string, source corev1.VolumeSource) {
	if !slices.ContainsFunc(pod.Volumes, func(volume corev1.Volume) bool { return volume.Name == name }) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
}

// mount mounts a volume unless the user has mounted something at the path.
func mount(container *corev1.Container, mount corev1.VolumeMount) {
	container.VolumeMounts = append(container.VolumeMounts,
		missing(container.VolumeMounts, []corev1.VolumeMount{mount})...)
}

// missing are the mounts with paths that are free.
func missing(set, mounts []corev1.VolumeMount) []corev1.VolumeMount {
	var free []corev1.VolumeMount
	for _, mount := range mounts {
		if !slices.ContainsFunc(
			set, func(other corev1.VolumeMount) bool { return other.MountPath == mount.MountPath }) {
			free = append(free, mount)
		}
	}
	return free
}

func claim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// addClaims adds volumes for the claims that main mounts by their names alone.
func addClaims(pod *corev1.PodSpec, main *corev1.Container) {
	for _, mount := range main.VolumeMounts {
		if mount.Name != SharedMemoryVolume {
			addVolume(pod, mount.Name, claim(mount.Name))
		}
	}
}

// CompilationCachePath is the default directory of a framework's compilation cache; empty if none is known.
func CompilationCachePath(framework v1beta1.BackendFramework) string {
	if framework == v1beta1.BackendFrameworkVLLM {
		return "/root/.cache/vllm"
	}
	return ""
}

func (m *maker) addCompilationCache(pod *corev1.PodSpec, main *corev1.Container) {
	cache := m.component.CompilationCache
	if cache == nil {
		return
	}
	framework := launch.Framework(m.deployment.Spec.BackendFramework, main)
	path := cache.MountPath
	if path == "" {
		path = CompilationCachePath(framework)
	}
	addVolume(pod, cache.PVCName, claim(cache.PVCName))
	mount(main, corev1.VolumeMount{Name: cache.PVCName, MountPath: path})
	if framework == v1beta1.BackendFrameworkVLLM {
		main.Env = withEnv([]corev1.EnvVar{{Name: "VLLM_CACHE_ROOT", Value: path}}, main.Env)
	}
}

// fillEndpointPicker mounts an endpoint picker's configuration, and adds flags for it and for the pool unless the
// command has them.
func (m *maker) fillEndpointPicker(pod *corev1.PodSpec, main *corev1.Container) {
	if config := m.component.EPPConfig; config != nil {
		source := &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: names.EndpointPickerConfig(m.deployment)},
			Items:                []corev1.KeyToPath{{Key: PickerConfigKey, Path: PickerConfigKey}},
		}
		if reference := config.ConfigMapRef; reference != nil {
			source.Name, source.Optional = reference.Name, reference.Optional
			if reference.Key != "" {
				source.Items[0].Key = reference.Key
			}
		}
		addVolume(pod, pickerConfigVolume, corev1.VolumeSource{ConfigMap: source})
		mount(main, corev1.VolumeMount{Name: pickerConfigVolume, MountPath: pickerConfigPath, ReadOnly: true})
	}
	addVolume(pod, modelCacheVolume, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	mount(main, corev1.VolumeMount{Name: modelCacheVolume, MountPath: modelCachePath})
	if len(main.Command)+len(main.Args) == 0 {
		main.Args = []string{
			"-pool-name", names.Pool(m.deployment), "-pool-namespace", m.deployment.Namespace, "-pool-group", PoolGroup,
			"-v", "4", "--zap-encoder", "json", "-grpc-port", "9002", "-grpc-health-port", "9003",
			"-config-file", pickerConfigPath + "/" + PickerConfigKey,
		}
	}
}

func addSharedMemory(size *resource.Quantity, pod *corev1.PodSpec, main *corev1.Container) {
	if size == nil {
		size = resource.NewQuantity(defaultSharedMemoryBytes, resource.BinarySI)
	}
	mounted := slices.ContainsFunc(main.VolumeMounts,
		func(mount corev1.VolumeMount) bool { return mount.Name == SharedMemoryVolume })
	taken := slices.ContainsFunc(main.VolumeMounts,
		func(mount corev1.VolumeMount) bool { return mount.MountPath == sharedMemoryPath })
	if size.IsZero() || taken && !mounted {
		return
	}
	addVolume(pod, SharedMemoryVolume, corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: new(size.DeepCopy())},
	})
	if !mounted {
		main.VolumeMounts = append(main.VolumeMounts,
			corev1.VolumeMount{Name: SharedMemoryVolume, MountPath: sharedMemoryPath})
	}
}
