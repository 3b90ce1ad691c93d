package children

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/names"
	"packtree.dev/grove-operator/internal/templatehash"
)

// ScalingGroup is the PodCliqueScalingGroup of a group in one replica, with the replicas of the template.
func ScalingGroup(
	set *grovev1alpha1.PodCliqueSet, replica int32, group *grovev1alpha1.PodCliqueScalingGroupConfig,
) *grovev1alpha1.PodCliqueScalingGroup {
	own := map[string]string{grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(replica)}
	minAvailable := layout.GroupMinAvailable(group)
	name := names.ScalingGroup(set.Name, replica, group.Name)
	made := &grovev1alpha1.PodCliqueScalingGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodCliqueScalingGroup"},
		ObjectMeta: metadata(set, name, grovev1alpha1.ComponentPodCliqueScalingGroup, nil, own),
		Spec: grovev1alpha1.PodCliqueScalingGroupSpec{
			Replicas:     layout.GroupReplicas(group),
			MinAvailable: &minAvailable,
			CliqueNames:  slices.Clone(group.CliqueNames),
		},
	}
	made.Annotations = annotations(group.Annotations, made.Spec.Replicas, templatehash.OfSet(set))
	made.OwnerReferences = ownedBySet(set)
	made.Finalizers = []string{grovev1alpha1.FinalizerPodCliqueScalingGroup}
	return made
}

// PodClique is the PodClique of a member of a set, with the replicas of the template. Owner is the PodCliqueScalingGroup
// of a member of a scaling group, and nil for a standalone clique, which belongs to the set.
func PodClique(
	set *grovev1alpha1.PodCliqueSet, member layout.Member, owner *grovev1alpha1.PodCliqueScalingGroup,
) *grovev1alpha1.PodClique {
	component := grovev1alpha1.ComponentPodClique
	own := map[string]string{
		grovev1alpha1.LabelPodGang:                  member.Gang,
		grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(member.Replica),
		grovev1alpha1.LabelPodTemplateHash:          templatehash.OfClique(set, member.Clique),
	}
	if member.BaseGang != "" {
		own[grovev1alpha1.LabelBasePodGang] = member.BaseGang
	}
	if member.Group != nil {
		component = grovev1alpha1.ComponentScalingGroupPodClique
		own[grovev1alpha1.LabelPodCliqueScalingGroup] = names.ScalingGroup(set.Name, member.Replica, member.Group.Name)
		own[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex] = index(member.Copy)
	}
	made := &grovev1alpha1.PodClique{
		TypeMeta:   metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodClique"},
		ObjectMeta: metadata(set, member.Name, component, member.Clique.Labels, own),
		Spec:       *member.Clique.Spec.DeepCopy(),
	}
	minAvailable := layout.MinAvailable(&member.Clique.Spec)
	made.Spec.MinAvailable = &minAvailable
	made.Annotations = annotations(member.Clique.Annotations, made.Spec.Replicas, templatehash.OfSet(set))
	made.Finalizers = []string{grovev1alpha1.FinalizerPodClique}
	made.OwnerReferences = ownedBySet(set)
	if member.Group != nil {
		made.OwnerReferences = nil
		if owner != nil {
			made.OwnerReferences = ownedBy(owner, grovev1alpha1.GroupVersion.WithKind("PodCliqueScalingGroup"))
		}
	}
	return made
}

// KeepHash leaves a PodClique the hash of its pods as long as their template stays the same, whichever version of the
// operator wrote it. Live may be nil.
func KeepHash(desired, live *grovev1alpha1.PodClique, set *grovev1alpha1.PodCliqueSet, member layout.Member) {
	const label = grovev1alpha1.LabelPodTemplateHash
	if live != nil && live.Labels[label] != desired.Labels[label] {
		desired.Labels[label] = templatehash.Kept(live.Labels[label], set, member.Clique)
	}
}

func annotations(user map[string]string, replicas int32, generationHash string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, user)
	all[grovev1alpha1.AnnotationTemplateReplicas] = index(replicas)
	all[grovev1alpha1.AnnotationGenerationHash] = generationHash
	return all
}
