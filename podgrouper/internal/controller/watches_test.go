package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestWhatChangesOfAnOwnerArePassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":       {func(*corev1.Pod) {}, false},
		"its status":    {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }, false},
		"its spec":      {func(pod *corev1.Pod) { pod.Generation++ }, true},
		"a label":       {func(pod *corev1.Pod) { pod.Labels = map[string]string{"a": "b"} }, true},
		"an annotation": {func(pod *corev1.Pod) { pod.Annotations = map[string]string{"a": "b"} }, true},
		"its owner": {func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} },
			true},
		"it is another object": {func(pod *corev1.Pod) { pod.UID = "2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "leader", UID: "1", Generation: 1}}
			after := before.DeepCopy()
			c.change(after)
			assert.Equal(t, c.want, ownerChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
		})
	}
}

func TestWhatChangesOfAPodGroupArePassedOn(t *testing.T) {
	said := func(status metav1.ConditionStatus, message string) []metav1.Condition {
		return []metav1.Condition{{Type: scheduling.ConditionValid, Status: status, Message: message}}
	}
	for name, c := range map[string]struct {
		change func(*scheduling.PodGroup)
		want   bool
	}{
		"nothing":  {func(*scheduling.PodGroup) {}, false},
		"its spec": {func(group *scheduling.PodGroup) { group.Generation++ }, true},
		"what the scheduler says": {func(group *scheduling.PodGroup) {
			group.Status.SchedulingConditions = []scheduling.SchedulingCondition{{}}
		}, false},
		"that its workload is wrong": {
			func(group *scheduling.PodGroup) { group.Status.Conditions = said("False", "right") }, true,
		},
		"what is wrong with its workload": {
			func(group *scheduling.PodGroup) { group.Status.Conditions = said("True", "wrong") }, true,
		},
		"that nothing is said any more": {func(group *scheduling.PodGroup) { group.Status.Conditions = nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang", UID: "1", Generation: 1}}
			before.Status.Conditions = said("True", "right")
			after := before.DeepCopy()
			c.change(after)
			assert.Equal(t, c.want, changedByOthers.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}))
		})
	}
	first := &scheduling.PodGroup{Status: scheduling.PodGroupStatus{Conditions: said("True", "right")}}
	assert.False(t, changedByOthers.Update(event.UpdateEvent{ObjectOld: &scheduling.PodGroup{}, ObjectNew: first}),
		"the first word of a PodGroup brings all its pods")
}
