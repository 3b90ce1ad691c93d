package main

import (
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/grove-operator/internal/layout"
)

// store receives the events of a reflector, from its one goroutine. A list replaces all pods at once, so that pods from
// before and after an outage never count together.
type store struct {
	progress *progress
	parents  []layout.Parent
	log      *slog.Logger
	// logged are the counts that were logged last; nil before the first.
	logged []int
	// met is closed once every parent has its minimum.
	met  chan struct{}
	done bool
}

var _ cache.TransformingStore = &store{}

// Add records a new pod.
func (s *store) Add(object any) error {
	s.progress.Set(object.(*corev1.Pod))
	s.judge()
	return nil
}

// Update records a changed pod.
func (s *store) Update(object any) error {
	return s.Add(object)
}

// Delete records that a pod is gone.
func (s *store) Delete(object any) error {
	s.progress.Remove(object.(*corev1.Pod).Name)
	s.judge()
	return nil
}

// Replace records all existing pods.
func (s *store) Replace(objects []any, _ string) error {
	all := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		all = append(all, object.(*corev1.Pod))
	}
	s.progress.Replace(all)
	s.judge()
	return nil
}

// Resync has nothing to do.
func (s *store) Resync() error {
	return nil
}

// Transformer strips pods: the reflector keeps a whole list in memory for a moment.
func (s *store) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			return bare(pod), nil
		}
		return object, nil
	}
}

// bare has the fields of a pod that the progress and the reflector need.
func bare(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
			ResourceVersion: pod.ResourceVersion, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Status: corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions},
	}
}

// judge logs each parent with a changed count, and ends the wait when all have their minima.
func (s *store) judge() {
	if s.done {
		return
	}
	counts := s.progress.Ready()
	for i, parent := range s.parents {
		if s.logged == nil || s.logged[i] != counts[i] {
			s.log.Info("pods that must be ready first", "podclique", parent.PodClique, "ready", counts[i], "minimum",
				parent.MinAvailable)
		}
	}
	s.logged = counts
	if s.progress.Met() {
		s.done = true
		close(s.met)
	}
}
