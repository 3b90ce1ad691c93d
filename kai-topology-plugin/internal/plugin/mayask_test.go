package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestMayAsk(t *testing.T) {
	for name, test := range map[string]struct {
		gated, grouped, bound bool
		want                  bool
	}{
		"grouped, without gate":         {grouped: true, want: true},
		"grouped, but still gated":      {grouped: true, gated: true},
		"without gate, but not grouped": {},
		"on a node":                     {grouped: true, bound: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Labels = map[string]string{grove.LabelPodGang: "gang"}
			if test.gated {
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
			}
			if test.grouped {
				pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "gang"}
			}
			if test.bound {
				pod.Spec.NodeName = "node"
			}
			if got := mayAsk(pod); got != test.want {
				t.Errorf("mayAsk is %v, want %v", got, test.want)
			}
		})
	}
}
