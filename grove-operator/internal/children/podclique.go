package children

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/podtemplate"
)

// ScalingGroup is the PodCliqueScalingGroup of a group in one replica, with the replicas of the template.
func ScalingGroup(
	set *grovev1alpha1.PodCliqueSet, replica int32, group *grovev1alpha1.PodCliqueScalingGroupConfig,
) *grovev1alpha1.PodCliqueScalingGroup {
	own := map[string]string{grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(replica)}
	minAvailable := layout.GroupMinAvailable(group)
	name := layout.ScalingGroup(set.Name, replica, group.Name)
	made := &grovev1alpha1.PodCliqueScalingGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodCliqueScalingGroup"},
		ObjectMeta: metadata(set, name, grovev1alpha1.ComponentPodCliqueScalingGroup, nil, own),
		Spec: grovev1alpha1.PodCliqueScalingGroupSpec{
			Replicas:     layout.GroupReplicas(group),
			MinAvailable: &minAvailable,
			CliqueNames:  slices.Clone(group.CliqueNames),
		},
	}
	made.Annotations = annotations(group.Annotations, made.Spec.Replicas, podtemplate.HashOfSet(set))
	made.OwnerReferences = ownedBySet(set)
	made.Finalizers = []string{grovev1alpha1.FinalizerPodCliqueScalingGroup}
	return made
}

// PodClique is the PodClique of a member of a set at its creation, with the replicas and the pod template that the set
// has now. Owner is the PodCliqueScalingGroup of a member of a scaling group, and nil for a standalone clique, which
// belongs to the set.
func PodClique(
	set *grovev1alpha1.PodCliqueSet, member layout.Member, owner *grovev1alpha1.PodCliqueScalingGroup,
) *grovev1alpha1.PodClique {
	return withTemplate(set, member, owner, podtemplate.Of(set, member.Clique))
}

// NextPodClique is PodClique for one that may exist already: it keeps its pod template until an update has reached it.
// Live is nil if it does not exist.
func NextPodClique(
	set *grovev1alpha1.PodCliqueSet, member layout.Member, owner *grovev1alpha1.PodCliqueScalingGroup,
	live *grovev1alpha1.PodClique, reached bool,
) *grovev1alpha1.PodClique {
	return withTemplate(set, member, owner, podtemplate.Next(set, member.Clique, live, reached))
}

func withTemplate(
	set *grovev1alpha1.PodCliqueSet, member layout.Member, owner *grovev1alpha1.PodCliqueScalingGroup,
	template podtemplate.Template,
) *grovev1alpha1.PodClique {
	component := grovev1alpha1.ComponentPodClique
	if member.Group != nil {
		component = grovev1alpha1.ComponentScalingGroupPodClique
	}
	made := &grovev1alpha1.PodClique{
		TypeMeta:   metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodClique"},
		ObjectMeta: metadata(set, member.Name, component, template.OwnLabels(), placeOf(set, member)),
		Spec:       *member.Clique.Spec.DeepCopy(),
	}
	made.Labels[grovev1alpha1.LabelPodTemplateHash] = template.Hash
	made.Spec.PodSpec = *template.PodSpec.DeepCopy()
	minAvailable := layout.MinAvailable(&member.Clique.Spec)
	made.Spec.MinAvailable = &minAvailable
	made.Annotations = annotations(template.Annotations, made.Spec.Replicas, template.GenerationHash)
	made.Annotations[grovev1alpha1.AnnotationPodTemplate] = template.Annotation()
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

// placeOf are the labels with a PodClique's place in its set.
func placeOf(set *grovev1alpha1.PodCliqueSet, member layout.Member) map[string]string {
	labels := map[string]string{
		grovev1alpha1.LabelPodGang:                  member.Gang,
		grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(member.Replica),
	}
	if member.BaseGang != "" {
		labels[grovev1alpha1.LabelBasePodGang] = member.BaseGang
	}
	if member.Group != nil {
		labels[grovev1alpha1.LabelPodCliqueScalingGroup] = layout.ScalingGroup(set.Name, member.Replica,
			member.Group.Name)
		labels[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex] = index(member.Copy)
	}
	return labels
}

func annotations(user map[string]string, replicas int32, generationHash string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, user)
	all[grovev1alpha1.AnnotationTemplateReplicas] = index(replicas)
	all[grovev1alpha1.AnnotationGenerationHash] = generationHash
	return all
}
