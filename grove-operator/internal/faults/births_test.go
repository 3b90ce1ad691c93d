package faults

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// births counts all pods that ever existed, so that a needless replacement shows.
type births struct {
	mu   sync.Mutex
	seen map[string][]types.UID
}

// OnAdd counts a pod.
func (b *births) OnAdd(object any, _ bool) {
	if pod, ok := object.(*corev1.Pod); ok {
		b.nameOf(pod)
	}
}

// OnUpdate and OnDelete count nothing.
func (b *births) OnUpdate(any, any) {}

func (b *births) OnDelete(any) {}

// nameOf is a pod's PodClique, its index, and how many pods have had that index.
func (b *births) nameOf(pod client.Object) string {
	place := pod.GetLabels()[grovev1alpha1.LabelPodClique] + "#" + pod.GetLabels()[grovev1alpha1.LabelPodIndex]
	b.mu.Lock()
	defer b.mu.Unlock()
	key := pod.GetNamespace() + "/" + place
	if !slices.Contains(b.seen[key], pod.GetUID()) {
		b.seen[key] = append(b.seen[key], pod.GetUID())
	}
	return fmt.Sprintf("%s (%d)", place, 1+slices.Index(b.seen[key], pod.GetUID()))
}
