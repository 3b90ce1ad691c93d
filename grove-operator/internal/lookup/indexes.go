package lookup

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
)

// Names of the indexes. Each is used together with a namespace, except Topology.
const (
	set       = "packtree.dev/set"
	replica   = "packtree.dev/replica"
	group     = "packtree.dev/scaling-group"
	baseGang  = "packtree.dev/base-gang"
	gang      = "packtree.dev/gang"
	podClique = "packtree.dev/podclique"
	usedBy    = "packtree.dev/topology"
)

// AddIndexes registers the indexes of every kind.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&corev1.Service{}, set, label(grovev1alpha1.LabelPartOf)},
		{&autoscalingv2.HorizontalPodAutoscaler{}, set, label(grovev1alpha1.LabelPartOf)},
		{&grovev1alpha1.PodCliqueScalingGroup{}, set, label(grovev1alpha1.LabelPartOf)},
		{&schedulerv1alpha1.PodGang{}, set, label(grovev1alpha1.LabelPartOf)},
		{&schedulerv1alpha1.PodGang{}, replica, replicaValue},
		{&grovev1alpha1.PodClique{}, set, label(grovev1alpha1.LabelPartOf)},
		{&grovev1alpha1.PodClique{}, replica, replicaValue},
		{&grovev1alpha1.PodClique{}, group, label(grovev1alpha1.LabelPodCliqueScalingGroup)},
		{&grovev1alpha1.PodClique{}, baseGang, label(grovev1alpha1.LabelBasePodGang)},
		{&corev1.Pod{}, set, label(grovev1alpha1.LabelPartOf)},
		{&corev1.Pod{}, podClique, label(grovev1alpha1.LabelPodClique)},
		{&corev1.Pod{}, gang, label(grovev1alpha1.LabelPodGang)},
		{&corev1.Pod{}, replica, replicaValue},
		{&grovev1alpha1.PodCliqueSet{}, usedBy, topologies},
	} {
		if err := indexer.IndexField(ctx, index.object, index.name, index.values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.object, index.name, err)
		}
	}
	return nil
}

func label(key string) client.IndexerFunc {
	return func(object client.Object) []string {
		if value, ok := object.GetLabels()[key]; ok {
			return []string{value}
		}
		return nil
	}
}

func replicaValue(object client.Object) []string {
	labels := object.GetLabels()
	return []string{labels[grovev1alpha1.LabelPartOf] + "/" + labels[grovev1alpha1.LabelPodCliqueSetReplicaIndex]}
}

func topologies(object client.Object) []string {
	return topology.UsedBy(object.(*grovev1alpha1.PodCliqueSet))
}

// OfSet selects children of a set: Services, autoscalers, PodCliqueScalingGroups, PodCliques, PodGangs,
// pods.
func OfSet(owner metav1.Object) []client.ListOption {
	return in(owner.GetNamespace(), set, owner.GetName())
}

// Live selects what the operator made of a set, for a reader without a cache.
func Live(owner metav1.Object) []client.ListOption {
	return []client.ListOption{client.InNamespace(owner.GetNamespace()), client.MatchingLabels{
		grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue,
		grovev1alpha1.LabelPartOf:    owner.GetName(),
	}}
}

// OfReplica selects PodCliques, PodGangs and pods of one replica of a set.
func OfReplica(namespace, setName string, index int32) []client.ListOption {
	return in(namespace, replica, fmt.Sprintf("%s/%d", setName, index))
}

// OfScalingGroup selects the PodCliques of a PodCliqueScalingGroup.
func OfScalingGroup(owner metav1.Object) []client.ListOption {
	return in(owner.GetNamespace(), group, owner.GetName())
}

// FollowingGang selects the PodCliques of the scaled gangs that follow a base gang.
func FollowingGang(namespace, name string) []client.ListOption {
	return in(namespace, baseGang, name)
}

// OfGang selects the pods of a PodGang.
func OfGang(namespace, name string) []client.ListOption {
	return in(namespace, gang, name)
}

// OfPodClique selects the pods of a PodClique.
func OfPodClique(owner metav1.Object) []client.ListOption {
	return in(owner.GetNamespace(), podClique, owner.GetName())
}

// Using selects the PodCliqueSets, of all namespaces, that need a ClusterTopology.
func Using(name string) []client.ListOption {
	return []client.ListOption{client.MatchingFields{usedBy: name}}
}

func in(namespace, index, value string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingFields{index: value}}
}
