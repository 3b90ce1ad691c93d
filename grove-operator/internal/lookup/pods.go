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

// ReadyPods counts the ready pods of the PodCliques of one replica of a set, as the pods themselves show it.
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

// bound selects the pods that stand on nodes and have not ended, where the reader is no cache.
var bound = fields.AndSelectors(
	fields.OneTermNotEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// pageOfPods is how many pods are read at a time: no more than what names each of them.
const pageOfPods = 2000

// BoundUnder counts the pods that stand on nodes and stay there, and that were made for a ClusterTopology, by the sets that they
// belong to, of all namespaces. It looks no further than it takes to know of more than so many sets.
func BoundUnder(
	ctx context.Context, live client.Reader, name string, sets int,
) (map[types.NamespacedName]int32, error) {
	counts := map[types.NamespacedName]int32{}
	page := metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for {
		err := live.List(ctx, &page, client.MatchingLabels{grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue},
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
