package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestReleased(t *testing.T) {
	pod := func(gated, grouped bool) *corev1.Pod {
		made := &corev1.Pod{}
		made.Labels = map[string]string{grove.LabelPodGang: "gang"}
		if gated {
			made.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
		}
		if grouped {
			made.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "gang"}
		}
		return made
	}
	for name, test := range map[string]struct {
		old, now *corev1.Pod
		want     bool
	}{
		"grouped first, the gate falls last":       {pod(true, true), pod(false, true), true},
		"the gate falls first, grouped last":       {pod(false, false), pod(false, true), true},
		"both at once":                             {pod(true, false), pod(false, true), true},
		"grouped, but still gated":                 {pod(true, false), pod(true, true), false},
		"without gate, but not grouped":            {pod(true, false), pod(false, false), false},
		"a pod that waited for nothing of its own": {pod(false, true), pod(false, true), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := released(test.old, test.now); got != test.want {
				t.Errorf("released is %v, want %v", got, test.want)
			}
		})
	}
}
