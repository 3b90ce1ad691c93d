package lookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/fieldindex"
	"packtree.dev/grove-operator/internal/pods"
)

// ReadyPods counts the ready pods of the PodCliques of one replica of a set, as the pods themselves show it.
func ReadyPods(
	ctx context.Context, reader client.Reader, set *grovev1alpha1.PodCliqueSet, replica int32,
) (func(podClique *grovev1alpha1.PodClique) int32, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, fieldindex.OfReplica(set.Namespace, set.Name, replica)...); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	ready := map[types.UID]int32{}
	for i := range list.Items {
		pod := &list.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && pods.Active(pod) && pods.Ready(pod) {
			ready[owner.UID]++
		}
	}
	return func(podClique *grovev1alpha1.PodClique) int32 { return ready[podClique.UID] }, nil
}

// BoundPods counts the pods of a set that stand on nodes and stay there, as the pods themselves show it.
func BoundPods(ctx context.Context, reader client.Reader, set *grovev1alpha1.PodCliqueSet) (int32, error) {
	var list corev1.PodList
	err := reader.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingLabels{
		grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue,
		grovev1alpha1.LabelPartOf:    set.Name,
	})
	if err != nil {
		return 0, fmt.Errorf("listing pods: %w", err)
	}
	var bound int32
	for i := range list.Items {
		if pods.Active(&list.Items[i]) && pods.Scheduled(&list.Items[i]) {
			bound++
		}
	}
	return bound, nil
}
