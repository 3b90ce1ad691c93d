package lookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/pods"
)

// ReadyPods counts the ready pods of the PodCliques of one replica of a set, by the pods themselves.
func ReadyPods(
	ctx context.Context, reader client.Reader, set *grovev1alpha1.PodCliqueSet, replica int32,
) (func(podClique *grovev1alpha1.PodClique) int32, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, OfReplica(set.Namespace, set.Name, replica)...); err != nil {
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

// BoundPods counts the pods of a set that are on nodes and not leaving, by the pods themselves.
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

// bound selects the pods that are on nodes and have not ended, for a reader without a cache.
var bound = fields.AndSelectors(
	fields.OneTermNotEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// pageOfPods is how many pods are read at once, with their metadata only.
const pageOfPods = 2000

// BoundUnder counts the pods that are on nodes and not leaving, and that were made for a ClusterTopology, by their
// sets, of all namespaces. It stops as soon as it has found more than so many sets.
func BoundUnder(
	ctx context.Context, live client.Reader, name string, sets int,
) (map[types.NamespacedName]int32, error) {
	counts := map[types.NamespacedName]int32{}
	page := metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		err := live.List(
			ctx, &page, client.MatchingLabels{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
			client.MatchingFieldsSelector{Selector: bound}, client.Limit(pageOfPods), client.Continue(page.Continue))
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		for i := range page.Items {
			pod := &page.Items[i]
			if pod.DeletionTimestamp == nil && pod.Annotations[grovev1alpha1.AnnotationTopologyName] == name {
				counts[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[grovev1alpha1.LabelPartOf]}]++
			}
		}
		if page.Continue == "" || len(counts) > sets {
			return counts, nil
		}
	}
}
