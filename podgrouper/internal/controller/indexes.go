package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/installation"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// Indexes of what is cached.
const (
	podsByOwner         = "owner"            // owners.Reference.Key of the first step up
	podsByPodGroup      = "podGroup"         // the PodGroup that the pod says it belongs to
	labelledByPodGroup  = "labelledPodGroup" // the same, only of pods whose labels say something about their PodGroup
	podGroupsByTopology = "topology"         // every Topology that a PodGroup names
	podGangDefinition   = "podgangs.scheduler.grove.io"
	specSchedulerName   = "spec.schedulerName"
)

// CacheOptions keep in memory only what the pod grouper reads: of pods, those that ask for our scheduler, without what
// their containers do.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Field:                 fields.OneTermEqualSelector(specSchedulerName, kai.SchedulerName),
				Transform:             slimPod,
				UnsafeDisableDeepCopy: new(true),
			},
			// Its managed fields tell what an administrator has changed.
			&scheduling.PodGroup{}:                      {Transform: unchanged},
			&apiextensionsv1.CustomResourceDefinition{}: installation.Only(podGangDefinition),
		},
	}
}

func unchanged(object any) (any, error) { return object, nil }

// slimPod keeps of a pod what decides about its group. Deletions may come as a tombstone, which stays as it is.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: pod.ObjectMeta}
	slim.ManagedFields = nil
	slim.Spec.SchedulerName = pod.Spec.SchedulerName
	slim.Status.Phase = pod.Status.Phase
	return slim, nil
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		indexer.IndexField(ctx, &corev1.Pod{}, podsByOwner, func(object client.Object) []string {
			if owner := owners.OfPod(object.(*corev1.Pod)); owner != nil {
				return []string{owner.Key()}
			}
			return nil
		}),
		indexer.IndexField(ctx, &corev1.Pod{}, podsByPodGroup, func(object client.Object) []string {
			return podGroupOf(object)
		}),
		indexer.IndexField(ctx, &corev1.Pod{}, labelledByPodGroup, func(object client.Object) []string {
			if !grouping.HasCarriedLabel(object.GetLabels()) {
				return nil
			}
			return podGroupOf(object)
		}),
		indexer.IndexField(ctx, &scheduling.PodGroup{}, podGroupsByTopology, func(object client.Object) []string {
			return topologiesOf(&object.(*scheduling.PodGroup).Spec)
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
