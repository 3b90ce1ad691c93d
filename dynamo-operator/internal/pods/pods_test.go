package pods_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

func TestWhatTheUserHasSetStays(t *testing.T) {
	made := makePod("worker", func(pod *corev1.PodTemplateSpec, main *corev1.Container) {
		pod.Labels = map[string]string{v1beta1.LabelQueue: "mine", v1beta1.LabelComponent: "not mine to choose"}
		pod.Spec.SchedulerName, pod.Spec.ServiceAccountName = "other", "account"
		pod.Spec.TerminationGracePeriodSeconds = new(int64(5))
		main.Command = []string{"./start"}
		main.Ports = []corev1.ContainerPort{{Name: "admin", ContainerPort: 9090}}
		main.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1}
		main.Env = []corev1.EnvVar{{Name: "LEVEL", Value: "container"}, {Name: "DYN_COMPONENT", Value: "own"}}
		main.VolumeMounts = []corev1.VolumeMount{{Name: "fast", MountPath: "/dev/shm"}}
	})
	main := made.Main()
	assert.Equal(t, "other", made.Spec.SchedulerName, "the pod became %v", made.Spec)
	assert.Equal(t, "account", made.Spec.ServiceAccountName, "the pod became %v", made.Spec)
	assert.Equal(t, int64(5), *made.Spec.TerminationGracePeriodSeconds, "the pod became %v", made.Spec)
	assert.Equal(t, "mine", made.Labels[v1beta1.LabelQueue], "labels are %v", made.Labels)
	assert.Equal(t, "Part", made.Labels[v1beta1.LabelComponent], "labels are %v", made.Labels)
	assert.Empty(t, main.Args)
	assert.Equal(t, int32(1), main.ReadinessProbe.PeriodSeconds)
	assert.Len(t, made.Spec.Volumes, 1)
	assert.Empty(t, cmp.Diff([]string{"admin:9090", "nixl:19090"}, portsOf(main)), "ports (-want +got)")
	assert.Equal(t, intstr.FromInt32(9090), main.LivenessProbe.HTTPGet.Port, "the default probe asks")
	assert.Empty(t, cmp.Diff(map[string]string{"LEVEL": "container", "DYN_COMPONENT": "own", "SPEC": "spec"},
		values(main, "LEVEL", "DYN_COMPONENT", "SPEC")), "environment (-want +got)")
}

func TestARequestForGPUsIsALimitToo(t *testing.T) {
	main := makePod("worker", func(_ *corev1.PodTemplateSpec, main *corev1.Container) {
		main.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"),
			"cpu": resource.MustParse("4")}
	}).Main()
	gpus, limited := main.Resources.Limits["nvidia.com/gpu"]
	_, cpu := main.Resources.Limits["cpu"]
	require.True(t, limited, "limits are %v", main.Resources.Limits)
	assert.Equal(t, int64(8), gpus.Value(), "limits are %v", main.Resources.Limits)
	assert.False(t, cpu, "limits are %v", main.Resources.Limits)
}

func TestSharedMemory(t *testing.T) {
	for name, c := range map[string]struct {
		size *resource.Quantity
		want string
	}{
		"8Gi by default": {nil, "8Gi"},
		"another size":   {new(resource.MustParse("64Gi")), "64Gi"},
		"none at size 0": {new(resource.MustParse("0")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			component := part("worker")
			component.SharedMemorySize = c.size
			made := pods.Make(deployment(), component, pods.Infrastructure{})
			got := ""
			for _, volume := range made.Spec.Volumes {
				got = volume.EmptyDir.SizeLimit.String()
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, len(made.Main().VolumeMounts) == 1, c.want != "")
		})
	}
}

func TestSharedMemoryThatTheUserMounts(t *testing.T) {
	for name, c := range map[string]struct {
		mount corev1.VolumeMount
		want  []string
	}{
		"by its name is there to be mounted": {corev1.VolumeMount{Name: "shared-memory", MountPath: "/dev/shm"},
			[]string{"shared-memory"}},
		"elsewhere too": {corev1.VolumeMount{Name: "shared-memory", MountPath: "/scratch"},
			[]string{"shared-memory"}},
		"is not made beside another at its path": {corev1.VolumeMount{Name: "own", MountPath: "/dev/shm"},
			[]string{"own"}},
	} {
		t.Run(name, func(t *testing.T) {
			made := makePod("worker", func(_ *corev1.PodTemplateSpec, main *corev1.Container) {
				main.VolumeMounts = []corev1.VolumeMount{c.mount}
			})
			var volumes []string
			for _, volume := range made.Spec.Volumes {
				volumes = append(volumes, volume.Name)
			}
			assert.Empty(t, cmp.Diff(c.want, volumes), "volumes (-want +got)")
			assert.Empty(t, cmp.Diff([]corev1.VolumeMount{c.mount}, made.Main().VolumeMounts), "mounts (-want +got)")
		})
	}
}

func makePod(kind string, change func(*corev1.PodTemplateSpec, *corev1.Container)) *pods.Template {
	component := part(kind)
	change(&component.PodTemplate, &component.PodTemplate.Spec.Containers[1])
	made := pods.Make(deployment(), component, pods.Infrastructure{})
	return &made
}

func part(kind string) *v1beta1.ComponentSpec {
	component := &v1beta1.ComponentSpec{Name: "Part", Type: kind}
	component.PodTemplate.Spec.Containers = []corev1.Container{{Name: "beside"}, {Name: "main", Image: "i"}}
	return component
}

func deployment() *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns"},
		Spec: v1beta1.DynamoGraphDeploymentSpec{
			Env: []corev1.EnvVar{{Name: "LEVEL", Value: "spec"}, {Name: "SPEC", Value: "spec"}},
		},
	}
}

func portsOf(main *corev1.Container) []string {
	var ports []string
	for _, port := range main.Ports {
		ports = append(ports, fmt.Sprintf("%s:%d", port.Name, port.ContainerPort))
	}
	return ports
}

func asked(probe *corev1.Probe) string {
	if probe == nil {
		return ""
	}
	if probe.GRPC != nil {
		return fmt.Sprintf("%s@%d", *probe.GRPC.Service, probe.GRPC.Port)
	}
	return probe.HTTPGet.Path + "@" + probe.HTTPGet.Port.String()
}

func values(main *corev1.Container, names ...string) map[string]string {
	found := map[string]string{}
	for _, variable := range main.Env {
		for _, name := range names {
			if variable.Name == name {
				found[name] += variable.Value
			}
		}
	}
	return found
}
