package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
)

// progress counts the ready pods of a PodClique's parents. It keeps only the names of ready pods.
type progress struct {
	parents []layout.Parent
	ready   map[string]sets.Set[string]
}

// progressOf returns the progress of parents before any pod was seen.
func progressOf(parents []layout.Parent) *progress {
	progress := &progress{parents: parents}
	progress.Replace(nil)
	return progress
}

// Replace drops every pod except the given ones.
func (p *progress) Replace(all []*corev1.Pod) {
	p.ready = map[string]sets.Set[string]{}
	for _, parent := range p.parents {
		p.ready[parent.PodClique] = sets.New[string]()
	}
	for _, pod := range all {
		p.Set(pod)
	}
}

// Set records a pod that is new or has changed.
func (p *progress) Set(pod *corev1.Pod) {
	podClique := pod.Labels[grovev1alpha1.LabelPodClique]
	ready, isParent := p.ready[podClique]
	if !isParent {
		return
	}
	if belongsTo(pod, podClique) && pods.Active(pod) && pods.Ready(pod) {
		ready.Insert(pod.Name)
	} else {
		ready.Delete(pod.Name)
	}
}

// belongsTo reports whether a pod was made for the PodClique of its label: anybody may write a label.
func belongsTo(pod *corev1.Pod, podClique string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "PodClique" && owner.Name == podClique
}

// Remove records that a pod is gone.
func (p *progress) Remove(pod string) {
	for _, ready := range p.ready {
		ready.Delete(pod)
	}
}

// Ready returns how many pods of each parent are ready, in the given order of the parents.
func (p *progress) Ready() []int {
	counts := make([]int, len(p.parents))
	for i, parent := range p.parents {
		counts[i] = p.ready[parent.PodClique].Len()
	}
	return counts
}

// Met reports whether every parent has its minimum now.
func (p *progress) Met() bool {
	for i, count := range p.Ready() {
		if count < int(p.parents[i].MinAvailable) {
			return false
		}
	}
	return true
}
