package gangstate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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
			assert.Equal(t, test.want, mayAsk(pod))
		})
	}
}

func TestWhichChangesOfAPodHaveItsGangAskedForAnew(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"a toleration": {func(pod *corev1.Pod) { pod.Spec.Tolerations = []corev1.Toleration{{Key: "k"}} }, true},
		"a label":      {func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "other"} }, true},
		"what it asks for": {func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		}, true},
		"a claim that was made for it": {func(pod *corev1.Pod) {
			pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"}}
		}, true},
		"the scheduler's own note": {
			func(pod *corev1.Pod) { pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled}} }, false,
		},
		"an annotation": {func(pod *corev1.Pod) { pod.Annotations["seen"] = "now" }, false},
	} {
		old := pod("a")
		old.Annotations = map[string]string{}
		old.Spec.Containers = make([]corev1.Container, 1)
		pod := old.DeepCopy()
		test.change(pod)
		assert.Equal(t, test.want, AsksElse(old, pod), name)
	}
}
