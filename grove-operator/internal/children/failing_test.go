package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/grove-operator/internal/pods"
)

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func terminated(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

func TestFailing(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pulled := &pods.Failure{Reason: "ImageNotPulled",
		Message: "the image team/engine:v1 of container main cannot be pulled"}
	ended := &pods.Failure{Reason: "ContainerEnds",
		Message: "container main ended with exit code 7 (Error) and was started again"}
	for claim, test := range map[string]struct {
		init, container corev1.ContainerStatus
		ready           bool
		want            *pods.Failure
	}{
		"an image cannot be pulled": {
			container: corev1.ContainerStatus{State: waiting("ErrImagePull", "no such host")}, want: pulled,
		},
		"the same while the kubelet waits": {
			container: corev1.ContainerStatus{State: waiting("ImagePullBackOff", "Back-off")}, want: pulled,
		},
		"an image may not be pulled": {
			container: corev1.ContainerStatus{State: waiting("ErrImageNeverPull", "")}, want: pulled,
		},
		"an image has a name that is none": {
			container: corev1.ContainerStatus{State: waiting("InvalidImageName", "")}, want: pulled,
		},
		"a container has ended, and waits": {
			container: corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off 10s"),
				LastTerminationState: terminated(7, "Error"), RestartCount: 1}, want: ended,
		},
		"the same, and it runs for a moment": {
			container: corev1.ContainerStatus{State: running, LastTerminationState: terminated(7, "Error"),
				RestartCount: 1},
			want: ended,
		},
		"the same, and it has ended again": {
			container: corev1.ContainerStatus{State: terminated(7, "Error"),
				LastTerminationState: terminated(7, "Error"),
				RestartCount:         9}, want: ended,
		},
		"a container ran out of memory": {
			container: corev1.ContainerStatus{State: waiting("CrashLoopBackOff", ""),
				LastTerminationState: terminated(137, "OOMKilled"), RestartCount: 2},
			want: &pods.Failure{Reason: "ContainerEnds",
				Message: "container main ended with exit code 137 (OOMKilled) and was started again"},
		},
		"a secret is missing": {
			container: corev1.ContainerStatus{State: waiting("CreateContainerConfigError", `secret "token" not found`)},
			want: &pods.Failure{Reason: "ContainerNotCreated",
				Message: `container main cannot be made: secret "token" not found`},
		},
		"an init container fails": {
			init: corev1.ContainerStatus{Name: "first", State: waiting("CrashLoopBackOff", ""),
				LastTerminationState: terminated(1, "Error"), RestartCount: 3},
			container: corev1.ContainerStatus{State: waiting("PodInitializing", "")},
			want: &pods.Failure{Reason: "ContainerEnds",
				Message: "container first ended with exit code 1 (Error) and was started again"},
		},
		"an init container is done, after a restart": {
			init: corev1.ContainerStatus{Name: "first", Ready: true, State: terminated(0, "Completed"),
				LastTerminationState: terminated(1, "Error"), RestartCount: 1},
			container: corev1.ContainerStatus{State: running},
		},
		"a container has ended for the first time": {container: corev1.ContainerStatus{State: terminated(1, "Error")}},
		"a container starts": {
			container: corev1.ContainerStatus{State: waiting("ContainerCreating", "")},
		},
		"a container runs, and is not ready yet": {container: corev1.ContainerStatus{State: running}},
		"a pod that is ready has been restarted": {
			container: corev1.ContainerStatus{State: running, LastTerminationState: terminated(7, "Error"),
				RestartCount: 1},
			ready: true,
		},
	} {
		t.Run(claim, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Spec.NodeName = "node"
			test.container.Name, test.container.Image = "main", "team/engine:v1"
			if test.init.Name != "" {
				pod.Status.InitContainerStatuses = []corev1.ContainerStatus{test.init}
			}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{test.container}
			if test.ready {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			assert.Empty(t, cmp.Diff(test.want, pods.Failing(pod)), "failure (-want +got)")
		})
	}
}

// TestAContainerThatEndedForAnotherImageHasNotFailed: the kubelet counts that as a restart, and reports that the former
// container ended with 137.
func TestAContainerThatEndedForAnotherImageHasNotFailed(t *testing.T) {
	for name, c := range map[string]struct {
		ended string
		want  *pods.Failure
	}{
		"the container of the image before has ended": {ended: "main-1"},
		"that of the new image has": {ended: "main-2", want: &pods.Failure{
			Reason: "ContainerEnds", Message: "container main ended with exit code 137 (Error) and was started again",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := running()
			updated(t, map[string]string{"main": "main:2"})(pod)
			notReady(pod)
			last := terminated(137, "Error")
			last.Terminated.ContainerID = c.ended
			pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{
				Name: "main", ContainerID: "main-3", RestartCount: 1, LastTerminationState: last,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}
			assert.Empty(t, cmp.Diff(c.want, pods.Failing(pod)), "failure (-want +got)")
		})
	}
}
