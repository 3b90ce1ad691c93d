package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
)

// unpulled gives a pod a container with an image that cannot be pulled, ended one that is started again and again.
func unpulled(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Image: "team/engine:v9",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}
}

func ended(pod *corev1.Pod) {
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", RestartCount: 3,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"},
		},
	}}
}

func TestPodsThatFailAreSaidToFail(t *testing.T) {
	const image, exit = "the image team/engine:v9 of container main cannot be pulled",
		"container main ended with exit code 1 (Error) and was started again"
	for claim, test := range map[string]struct {
		letters string
		make    []func(*corev1.Pod)
		want    string
	}{
		"none fails": {letters: "sss"},
		"all fail for one reason": {letters: "ss", make: []func(*corev1.Pod){unpulled, unpulled},
			want: image + " (pods: 2)"},
		"what fails most is said": {letters: "ssss", make: []func(*corev1.Pod){ended, unpulled, unpulled},
			want: image + " (pods: 2)"},
		"as often as another: always the same": {letters: "ss", make: []func(*corev1.Pod){unpulled, ended},
			want: exit + " (pods: 1)"},
		"a pod that is ready fails no more":        {letters: "rs", make: []func(*corev1.Pod){ended}},
		"a pod that is being deleted is no news":   {letters: "ds", make: []func(*corev1.Pod){ended}},
		"a pod that has ended for good is neither": {letters: "fs", make: []func(*corev1.Pod){ended}},
	} {
		t.Run(claim, func(t *testing.T) {
			pods := existing(test.letters)
			for i, fails := range test.make {
				fails(pods[i])
			}
			clique := podClique(int32(len(pods)), 1, false)
			clique.Generation = 4
			clique.Status = status.OfPodClique(clique, pods, "", status.Update{})
			assert.Empty(t, cmp.Diff(test.want, status.Failing(clique)), "what fails (-want +got)")
			condition := meta.FindStatusCondition(clique.Status.Conditions, "PodsFailing")
			if (condition != nil) != (test.want != "") ||
				condition != nil && (condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != 4) {
				t.Errorf("the condition is %v", condition)
			}
			// Once all pods run, no message stays.
			clique.Status = status.OfPodClique(clique, existing("rrrr"), "", status.Update{})
			assert.Empty(t, status.Failing(clique), "ready pods still fail")
		})
	}
}

func TestAScalingGroupSaysWhatFailsInIt(t *testing.T) {
	group := &grovev1alpha1.PodCliqueScalingGroup{}
	group.Spec.Replicas, group.Spec.CliqueNames = 2, []string{"leader", "worker"}
	member := func(name string, fails ...func(*corev1.Pod)) *grovev1alpha1.PodClique {
		pods := existing("s")
		for _, fail := range fails {
			fail(pods[0])
		}
		clique := podClique(1, 1, false)
		clique.Name = name
		clique.Status = status.OfPodClique(clique, pods, "", status.Update{})
		return clique
	}
	group.Status = status.OfScalingGroup(group, []*grovev1alpha1.PodClique{
		member("g-1-worker", ended), member("g-0-worker", unpulled), member("g-0-leader"),
	}, status.Update{})
	want := &metav1.Condition{
		Type: "PodsFailing", Status: metav1.ConditionTrue, Reason: "ImageNotPulled",
		Message: "PodClique g-0-worker: the image team/engine:v9 of container main cannot be pulled (pods: 1)",
	}
	got := meta.FindStatusCondition(group.Status.Conditions, "PodsFailing")
	require.NotNil(t, got, "the scaling group says nothing")
	got.LastTransitionTime = metav1.Time{}
	assert.Empty(t, cmp.Diff(want, got), "condition (-want +got)")
	group.Status = status.OfScalingGroup(group, []*grovev1alpha1.PodClique{member("g-0-worker"), member("g-0-leader")},
		status.Update{})
	assert.Nil(t, meta.FindStatusCondition(group.Status.Conditions, "PodsFailing"),
		"the scaling group still says that pods fail")
}
