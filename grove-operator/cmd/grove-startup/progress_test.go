package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// podOf returns a pod of a PodClique that is ready, unless a change says otherwise.
func podOf(podClique, name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{grovev1alpha1.LabelPodClique: podClique},
		OwnerReferences: []metav1.OwnerReference{{Kind: "PodClique", Name: podClique, Controller: new(true)}},
	}}
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, change := range changes {
		change(made)
	}
	return made
}

func unready(pod *corev1.Pod) { pod.Status.Conditions[0].Status = corev1.ConditionFalse }

func leaving(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{} }

func TestWhatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want int
	}{
		"a ready pod":                   {podOf("a", "p"), 1},
		"not one that is not ready":     {podOf("a", "p", unready), 0},
		"not one that is being deleted": {podOf("a", "p", leaving), 0},
		"not one that has ended": {
			podOf("a", "p", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), 0,
		},
		"not one of another PodClique": {podOf("a-b", "a-p"), 0},
		"not one without a status": {podOf("a", "p", func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }),
			0},
		"not one that another client labelled": {podOf("a", "p", func(p *corev1.Pod) { p.OwnerReferences = nil }), 0},
		"not one that another PodClique's owns": {
			podOf("a", "p", func(p *corev1.Pod) { p.OwnerReferences[0].Name = "b" }), 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			progress := progressOf([]layout.Parent{{PodClique: "a", MinAvailable: 1}})
			progress.Set(c.pod)
			assert.Equal(t, c.want, progress.Ready()[0])
		})
	}
}

func TestMinimaMustBeMetAtTheSameTime(t *testing.T) {
	progress := progressOf([]layout.Parent{{PodClique: "a", MinAvailable: 2}, {PodClique: "b", MinAvailable: 1}})
	for _, step := range []struct {
		what  string
		do    func()
		ready []int
		met   bool
	}{
		{"the first pod is ready", func() { progress.Set(podOf("a", "a1")) }, []int{1, 0}, false},
		{"the same pod again", func() { progress.Set(podOf("a", "a1")) }, []int{1, 0}, false},
		{"the second is ready", func() { progress.Set(podOf("a", "a2")) }, []int{2, 0}, false},
		{"one is ready no more", func() { progress.Set(podOf("a", "a1", unready)) }, []int{1, 0}, false},
		{"the other parent is ready", func() { progress.Set(podOf("b", "b1")) }, []int{1, 1}, false},
		{"a third replaces it", func() { progress.Set(podOf("a", "a3")) }, []int{2, 1}, true},
		{"it leaves", func() { progress.Remove("a3") }, []int{1, 1}, false},
		{"a new look at the cluster finds other pods", func() {
			progress.Replace([]*corev1.Pod{podOf("a", "a4"), podOf("a", "a5"), podOf("a", "a6")})
		}, []int{3, 0}, false},
		{"everything is there again", func() { progress.Set(podOf("b", "b2")) }, []int{3, 1}, true},
		{"a parent is scaled to zero", func() { progress.Replace([]*corev1.Pod{podOf("b", "b2")}) },
			[]int{0, 1}, false},
	} {
		step.do()
		assert.Empty(t, cmp.Diff(step.ready, progress.Ready()), "%s: ready (-want +got)", step.what)
		assert.Equal(t, step.met, progress.Met(), step.what)
	}
}
