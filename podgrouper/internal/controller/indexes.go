package controller

import (
	"context"
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/installation"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// Indexes of the cache.
const (
	podsByOwner         = "owner"            // owners.Reference.Key of the pod's first owner
	podsByPodGroup      = "podGroup"         // the PodGroup that the pod names
	labelledByPodGroup  = "labelledPodGroup" // the same, only of pods with labels for their PodGroup
	podGroupsByTopology = "topology"         // every Topology that a PodGroup names
	podGroupsByOwner    = "ownerUID"         // the uid of every owner of a PodGroup
	podGangDefinition   = "podgangs.scheduler.grove.io"
)

// CacheOptions keep in memory only what the pod grouper reads.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: slimOwner,
		ByObject: map[client.Object]cache.ByObject{
			podMetadata(): cachedPods(),
			// The managed fields show what an administrator has changed.
			&scheduling.PodGroup{}:                      {Transform: unchanged},
			&apiextensionsv1.CustomResourceDefinition{}: installation.Only(podGangDefinition),
		},
	}
}

func unchanged(object any) (any, error) { return object, nil }

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		indexer.IndexField(ctx, podMetadata(), podsByOwner, func(object client.Object) []string {
			if owner := owners.OfPod(asPod(object.(*metav1.PartialObjectMetadata))); owner != nil {
				return []string{owner.Key()}
			}
			return nil
		}),
		indexer.IndexField(ctx, podMetadata(), podsByPodGroup, func(object client.Object) []string {
			return podGroupOf(object)
		}),
		indexer.IndexField(ctx, podMetadata(), labelledByPodGroup, func(object client.Object) []string {
			if !grouping.HasCarriedLabel(object.GetLabels()) {
				return nil
			}
			return podGroupOf(object)
		}),
		indexer.IndexField(ctx, &scheduling.PodGroup{}, podGroupsByTopology, func(object client.Object) []string {
			return topologiesOf(&object.(*scheduling.PodGroup).Spec)
		}),
		indexer.IndexField(ctx, &scheduling.PodGroup{}, podGroupsByOwner, func(object client.Object) []string {
			var uids []string
			for _, owner := range object.GetOwnerReferences() {
				uids = append(uids, string(owner.UID))
			}
			return uids
		}),
	)
}

func podGroupOf(pod client.Object) []string {
	if name := pod.GetAnnotations()[scheduling.AnnotationPodGroupName]; name != "" {
		return []string{name}
	}
	return nil
}

func topologiesOf(spec *scheduling.PodGroupSpec) []string {
	var names []string
	add := func(constraint *scheduling.TopologyConstraint) {
		if constraint != nil && constraint.Topology != "" {
			names = append(names, constraint.Topology)
		}
	}
	add(spec.TopologyConstraint)
	for i := range spec.SubGroups {
		add(spec.SubGroups[i].TopologyConstraint)
	}
	return names
}
