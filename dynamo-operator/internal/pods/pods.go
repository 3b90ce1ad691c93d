// Package pods makes the pods of a component out of its pod template: it fills in what the template leaves open after
// the component's type, and nothing that the user has set.
package pods

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	// Scheduler places the pods unless the user names another.
	Scheduler = "kai-scheduler"
	// SharedMemoryVolume is the name of the volume that is mounted as shared memory. The main container may mount it elsewhere.
	SharedMemoryVolume = "shared-memory"

	defaultQueue             = "dynamo"
	terminationGraceSeconds  = 60
	sharedMemoryPath         = "/dev/shm"
	defaultSharedMemoryBytes = 8 << 30
)

// Template is the pod of a component, before it is made one node of several.
type Template struct {
	// Labels and Annotations of the pod.
	Labels, Annotations map[string]string
	// Spec of the pod. Its first container is the main one.
	Spec corev1.PodSpec
}

// Main is the workload container.
func (t *Template) Main() *corev1.Container {
	return &t.Spec.Containers[0]
}

// Make returns the pod of a component. The template has a container named main; admission saw to that.
func Make(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) Template {
	template := component.PodTemplate.DeepCopy()
	made := Template{
		Labels:      podLabels(deployment, component, template.Labels),
		Annotations: merged(deployment.Spec.Annotations, template.Annotations),
		Spec:        template.Spec,
	}
	mainFirst(&made.Spec)
	fillPod(deployment, &made.Spec)
	fillMain(deployment, component, &made)
	return made
}

// mainFirst orders the containers so that the one that matters is the one that kubectl logs shows.
func mainFirst(pod *corev1.PodSpec) {
	slices.SortStableFunc(pod.Containers, func(a, b corev1.Container) int {
		return rank(a) - rank(b)
	})
}

func rank(container corev1.Container) int {
	if container.Name == v1beta1.MainContainer {
		return 0
	}
	return 1
}

func podLabels(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, own map[string]string) map[string]string {
	labels := merged(deployment.Spec.Labels, own)
	labels[v1beta1.LabelDeploymentName] = names.Deployment(deployment)
	labels[v1beta1.LabelSelector] = names.Selector(deployment, component)
	labels[v1beta1.LabelComponent] = component.Name
	labels[v1beta1.LabelDynamoNamespace] = names.DynamoNamespace(deployment)
	if component.Type != "" {
		labels[v1beta1.LabelComponentType] = component.Type
	}
	if labels[v1beta1.LabelQueue] == "" {
		labels[v1beta1.LabelQueue] = defaultQueue
		if queue := deployment.Annotations[v1beta1.AnnotationQueue]; queue != "" {
			labels[v1beta1.LabelQueue] = queue
		}
	}
	return labels
}

func merged(below, above map[string]string) map[string]string {
	all := make(map[string]string, len(below)+len(above))
	maps.Copy(all, below)
	maps.Copy(all, above)
	return all
}

func fillPod(deployment *v1beta1.DynamoGraphDeployment, pod *corev1.PodSpec) {
	if pod.TerminationGracePeriodSeconds == nil {
		pod.TerminationGracePeriodSeconds = new(int64(terminationGraceSeconds))
	}
	if pod.SchedulerName == "" {
		pod.SchedulerName = Scheduler
	}
	if pod.ServiceAccountName == "" && pod.DeprecatedServiceAccount == "" {
		pod.ServiceAccountName = names.Discovery(deployment)
	}
}

func fillMain(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, made *Template) {
	main := made.Main()
	kind := kindOf(component.Type)
	fillCommand(main, kind)
	fillPorts(main, kind)
	fillProbes(main, kind)
	limitWhatCannotBeShared(main)
	main.Env = withEnv(environment(deployment, component, kind), withEnv(deployment.Spec.Env, main.Env))
	addSharedMemory(component.SharedMemorySize, &made.Spec, main)
}

// withEnv puts the defaults that env does not set before it, so that env can refer to them.
func withEnv(defaults, env []corev1.EnvVar) []corev1.EnvVar {
	all := slices.DeleteFunc(slices.Clone(defaults), func(variable corev1.EnvVar) bool {
		return slices.ContainsFunc(env, func(set corev1.EnvVar) bool { return set.Name == variable.Name })
	})
	return append(all, env...)
}

// limitWhatCannotBeShared repeats requests of extended resources as limits: Kubernetes takes no request for a GPU
// without a limit that equals it.
func limitWhatCannotBeShared(main *corev1.Container) {
	for name, amount := range main.Resources.Requests {
		if _, limited := main.Resources.Limits[name]; limited || !IsExtended(name) {
			continue
		}
		if main.Resources.Limits == nil {
			main.Resources.Limits = corev1.ResourceList{}
		}
		main.Resources.Limits[name] = amount
	}
}

func addSharedMemory(size *resource.Quantity, pod *corev1.PodSpec, main *corev1.Container) {
	if size == nil {
		size = resource.NewQuantity(defaultSharedMemoryBytes, resource.BinarySI)
	}
	mounted := slices.ContainsFunc(main.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.Name == SharedMemoryVolume })
	taken := slices.ContainsFunc(main.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.MountPath == sharedMemoryPath })
	if size.IsZero() || taken && !mounted {
		return
	}
	if !slices.ContainsFunc(pod.Volumes, func(volume corev1.Volume) bool { return volume.Name == SharedMemoryVolume }) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{
			Name: SharedMemoryVolume,
			VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: new(size.DeepCopy())},
			},
		})
	}
	if !mounted {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: SharedMemoryVolume, MountPath: sharedMemoryPath})
	}
}
