package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestWhatChangesOfAnOwnerArePassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":              {func(*corev1.Pod) {}, false},
		"its status":           {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }, false},
		"its spec":             {func(pod *corev1.Pod) { pod.Generation++ }, true},
		"a label":              {func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} }, true},
		"an annotation":        {func(pod *corev1.Pod) { pod.Annotations = map[string]string{"a": "b"} }, true},
		"its owner":            {func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }, true},
		"it is another object": {func(pod *corev1.Pod) { pod.UID = "2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "leader", UID: "1", Generation: 1}}
			after := before.DeepCopy()
			c.change(after)
			if got := ownerChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
