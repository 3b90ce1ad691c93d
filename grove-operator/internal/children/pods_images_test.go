package children_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/pods"
)

// running has a container main and a sidecar mesh, each of an image with a version, as container of the same version.
func running() *corev1.Pod {
	made := pod(0)
	made.UID, made.ResourceVersion = "uid", "7"
	made.Spec.InitContainers = []corev1.Container{{Name: "mesh", Image: "mesh:1"}}
	made.Spec.Containers = []corev1.Container{{Name: "main", Image: "main:1", Args: []string{"serve"}},
		{Name: "other", Image: "other:1"}}
	for _, container := range made.Spec.Containers {
		started(container.Name, container.Name+"-1")(made)
	}
	made.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", ContainerID: "mesh-1"}}
	return made
}

// started is a container that a kubelet has started.
func started(name, id string) option {
	return func(pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			if pod.Status.ContainerStatuses[i].Name == name {
				pod.Status.ContainerStatuses[i].ContainerID = id
				return
			}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: name, ContainerID: id})
	}
}

// updated is an image update as the API server carries it out.
func updated(t *testing.T, images map[string]string) option {
	return func(pod *corev1.Pod) {
		t.Helper()
		before, err := json.Marshal(pod)
		require.NoError(t, err)
		patch := pods.ImageUpdate{Pod: pod.DeepCopy(), Images: images, Hash: "new"}.Patch()
		after, err := strategicpatch.StrategicMergePatch(before, patch, &corev1.Pod{})
		require.NoError(t, err)
		*pod = corev1.Pod{}
		require.NoError(t, json.Unmarshal(after, pod))
	}
}

func TestAnImageUpdateChangesImagesAndNothingElse(t *testing.T) {
	got := running()
	updated(t, map[string]string{"main": "main:2", "mesh": "mesh:2"})(got)
	want := running()
	want.Labels[grovev1alpha1.LabelPodTemplateHash] = "new"
	want.Annotations = map[string]string{
		grovev1alpha1.AnnotationFormerContainers: `{"main":{"containerID":"main-1","image":"main:1"},"mesh":{"containerID":"mesh-1","image":"mesh:1"}}`,
	}
	want.Spec.InitContainers[0].Image, want.Spec.Containers[0].Image = "mesh:2", "main:2"
	got.CreationTimestamp = want.CreationTimestamp // JSON has it in another time zone.
	assert.Empty(t, cmp.Diff(want, got), "pod (-want +got)")
}

// TestAnImageUpdateIsOfThePodThatWasSeen: a change since then, such as a container that was started, is not
// overwritten.
func TestAnImageUpdateIsOfThePodThatWasSeen(t *testing.T) {
	var patch corev1.Pod
	require.NoError(t,
		json.Unmarshal(pods.ImageUpdate{Pod: running(), Images: map[string]string{"main": "main:2"}}.Patch(),
			&patch))
	assert.Equal(t, "uid", string(patch.UID))
	assert.Equal(t, "7", patch.ResourceVersion)
}

// TestReadyAgainWithTheNewImage: a pod's status says Ready until its kubelet has seen the new image.
func TestReadyAgainWithTheNewImage(t *testing.T) {
	main := func(version string) option { return updated(t, map[string]string{"main": "main:" + version}) }
	mesh := func(pod *corev1.Pod) { pod.Status.InitContainerStatuses[0].ContainerID = "mesh-2" }
	for name, c := range map[string]struct {
		steps []option
		want  bool
	}{
		"a pod that was never updated":          {want: true},
		"the kubelet has not heard":             {steps: []option{main("2")}},
		"the kubelet has started the new image": {steps: []option{main("2"), started("main", "main-2")}, want: true},
		"it is started, and not ready":          {steps: []option{main("2"), started("main", "main-2"), notReady}},
		"another container was started again":   {steps: []option{main("2"), started("other", "other-2")}},
		"one of two is still the former": {
			steps: []option{updated(t, map[string]string{"main": "main:2", "mesh": "mesh:2"}),
				started("main", "main-2")},
		},
		"both have been started": {
			steps: []option{updated(t, map[string]string{"main": "main:2", "mesh": "mesh:2"}),
				started("main", "main-2"), mesh},
			want: true,
		},
		"a third image before the second was started": {steps: []option{main("2"), main("3")}},
		"the third image is started": {steps: []option{main("2"), main("3"), started("main", "main-3")},
			want: true},
		"a third image after the second was started": {steps: []option{main("2"),
			started("main", "main-2"), main("3")}},
		"back before the kubelet has heard": {steps: []option{main("2"), main("1")}, want: true},
		"back after the second was started": {steps: []option{main("2"),
			started("main", "main-2"), main("1")}},
		"back, and started": {
			steps: []option{main("2"), started("main", "main-2"), main("1"), started("main", "main-1b")}, want: true,
		},
		"back by way of a third": {steps: []option{main("2"), main("3"), main("1")}, want: true},
		"another container is updated before the first": {
			steps: []option{main("2"), updated(t, map[string]string{"other": "other:2"}), started("other", "other-2")},
		},
		"what was never started replaces nothing": {steps: []option{
			func(pod *corev1.Pod) { pod.Status.ContainerStatuses = nil }, main("2"), started("main", "main-2"),
		}, want: true},
		"a user garbled the note": {steps: []option{main("2"), func(pod *corev1.Pod) {
			pod.Annotations[grovev1alpha1.AnnotationFormerContainers] = "{"
		}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := running()
			for _, step := range c.steps {
				step(pod)
			}
			assert.Equal(t, c.want, pods.Ready(pod), "note: %s", pod.Annotations[grovev1alpha1.AnnotationFormerContainers])
		})
	}
}
