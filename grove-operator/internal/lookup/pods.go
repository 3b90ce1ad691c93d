package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/pods"
)

// Replica is one replica of a set as the API server has it.
type Replica struct {
	PodCliques    map[string]*grovev1alpha1.PodClique
	ScalingGroups map[string]*grovev1alpha1.PodCliqueScalingGroup
	ready         map[types.UID]int32
}

// LiveReplica reads one replica of a set without a cache.
func LiveReplica(
	ctx context.Context, live client.Reader, set *grovev1alpha1.PodCliqueSet, index int32,
) (Replica, error) {
	read := Replica{PodCliques: map[string]*grovev1alpha1.PodClique{},
		ScalingGroups: map[string]*grovev1alpha1.PodCliqueScalingGroup{}, ready: map[types.UID]int32{}}
	var podCliques grovev1alpha1.PodCliqueList
	var groups grovev1alpha1.PodCliqueScalingGroupList
	var existing corev1.PodList
	for _, list := range []client.ObjectList{&podCliques, &groups, &existing} {
		err := live.List(ctx, list, client.InNamespace(set.Namespace), client.MatchingLabels{
			grovev1alpha1.LabelPartOf:                   set.Name,
			grovev1alpha1.LabelPodCliqueSetReplicaIndex: strconv.Itoa(int(index)),
		})
		if err != nil {
			return Replica{}, fmt.Errorf("reading replica %d: %w", index, err)
		}
	}
	for i := range podCliques.Items {
		read.PodCliques[podCliques.Items[i].Name] = &podCliques.Items[i]
	}
	for i := range groups.Items {
		read.ScalingGroups[groups.Items[i].Name] = &groups.Items[i]
	}
	for i := range existing.Items {
		pod := &existing.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && pods.Active(pod) && pods.Ready(pod) {
			read.ready[owner.UID]++
		}
	}
	return read, nil
}

// Ready counts the ready pods of a PodClique.
func (r Replica) Ready(podClique *grovev1alpha1.PodClique) int32 { return r.ready[podClique.UID] }

// Members are the PodCliques of a scaling group, by name.
func (r Replica) Members(group string) []*grovev1alpha1.PodClique {
	var members []*grovev1alpha1.PodClique
	for _, name := range slices.Sorted(maps.Keys(r.PodCliques)) {
		if r.PodCliques[name].Labels[grovev1alpha1.LabelPodCliqueScalingGroup] == group {
			members = append(members, r.PodCliques[name])
		}
	}
	return members
}

// BoundPods counts the pods of a set that are on nodes and not leaving, by the pods themselves.
func BoundPods(ctx context.Context, reader client.Reader, set *grovev1alpha1.PodCliqueSet) (int32, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, Live(set)...); err != nil {
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
