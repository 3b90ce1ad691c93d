package children

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// ClaimLevel says which pods share a claim, and with which object the claim is deleted.
type ClaimLevel int

// The levels, broadest first.
const (
	ClaimOfSet ClaimLevel = iota
	ClaimOfScalingGroup
	ClaimOfPodClique
)

// Claim is a ResourceClaim that pods share, by resourceSharing.
type Claim struct {
	// Name of the ResourceClaim.
	Name string
	// Sharing is the entry of the set for it.
	Sharing grovev1alpha1.ResourceSharing
	// Level says what Owner is: the set, a PodCliqueScalingGroup or a PodClique.
	Level ClaimLevel
	Owner string
}

// SharesClaims reports whether anything of a set shares claims.
func SharesClaims(set *grovev1alpha1.PodCliqueSet) bool {
	template := &set.Spec.Template
	return len(template.ResourceSharing) > 0 ||
		slices.ContainsFunc(template.Cliques,
			func(clique grovev1alpha1.PodCliqueTemplateSpec) bool { return len(clique.ResourceSharing) > 0 }) ||
		slices.ContainsFunc(template.PodCliqueScalingGroups,
			func(group grovev1alpha1.PodCliqueScalingGroupConfig) bool { return len(group.ResourceSharing) > 0 })
}

// ClaimsOfPod returns the claims of the pod with an index in a PodClique: those of the set, then of its scaling group,
// then of its clique.
func ClaimsOfPod(set *grovev1alpha1.PodCliqueSet, member layout.Member, index int32) []Claim {
	var all []Claim
	for _, entry := range set.Spec.Template.ResourceSharing {
		if entry.Filter == nil || filtered(entry.Filter, member) {
			all = append(all, claim(entry.ResourceSharing, ClaimOfSet, set.Name, member.Replica))
		}
	}
	if group := member.Group; group != nil {
		for _, entry := range group.ResourceSharing {
			if entry.Filter == nil || slices.Contains(entry.Filter.ChildCliqueNames, member.Clique.Name) {
				all = append(all, claim(entry.ResourceSharing, ClaimOfScalingGroup,
					layout.ScalingGroup(set.Name, member.Replica, group.Name), member.Copy))
			}
		}
	}
	for _, entry := range member.Clique.ResourceSharing {
		all = append(all, claim(entry, ClaimOfPodClique, member.Name, index))
	}
	return all
}

func filtered(filter *grovev1alpha1.SetResourceSharingFilter, member layout.Member) bool {
	return slices.Contains(filter.ChildCliqueNames, member.Clique.Name) ||
		member.Group != nil && slices.Contains(filter.ChildScalingGroupNames, member.Group.Name)
}

// claim is the claim of one entry for a replica of its owner.
func claim(sharing grovev1alpha1.ResourceSharing, level ClaimLevel, owner string, replica int32) Claim {
	name := fmt.Sprintf("%s-all-%s", owner, sharing.Name)
	if sharing.Scope == grovev1alpha1.SharedPerReplica {
		name = fmt.Sprintf("%s-%d-%s", owner, replica, sharing.Name)
	}
	return Claim{Name: name, Sharing: sharing, Level: level, Owner: owner}
}

// Sizes are the present sizes of the parts of a set.
type Sizes struct {
	// Copies returns how many copies a PodCliqueScalingGroup has, or false if it does not exist.
	Copies func(scalingGroup string) (int32, bool)
	// Indexes returns the indexes of the pods that a PodClique has or is to have, or false if it does not exist.
	Indexes func(podClique string) ([]int32, bool)
}

// Claims returns the claims of all pods of a set, each once, by name.
func Claims(set *grovev1alpha1.PodCliqueSet, sizes Sizes) []Claim {
	wanted := map[string]Claim{}
	for _, member := range members(set, sizes) {
		indexes, exists := sizes.Indexes(member.Name)
		if !exists {
			indexes = upTo(member.Clique.Spec.Replicas)
		}
		for _, index := range indexes {
			for _, claim := range ClaimsOfPod(set, member, index) {
				wanted[claim.Name] = claim
			}
		}
	}
	desired := make([]Claim, 0, len(wanted))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		desired = append(desired, wanted[name])
	}
	return desired
}

func members(set *grovev1alpha1.PodCliqueSet, sizes Sizes) []layout.Member {
	var all []layout.Member
	for replica := range layout.Replicas(set) {
		all = append(all, layout.Members(set, replica, func(group *grovev1alpha1.PodCliqueScalingGroupConfig) int32 {
			if copies, exists := sizes.Copies(layout.ScalingGroup(set.Name, replica, group.Name)); exists {
				return copies
			}
			return layout.GroupReplicas(group)
		})...)
	}
	return all
}

func upTo(pods int32) []int32 {
	indexes := make([]int32, 0, pods)
	for index := range pods {
		indexes = append(indexes, index)
	}
	return indexes
}

// AddClaims adds claims to a pod, and their devices to all its containers.
func AddClaims(spec *corev1.PodSpec, shared []Claim) {
	for _, claim := range shared {
		name := labelSized(claim.Name)
		spec.ResourceClaims = append(spec.ResourceClaims,
			corev1.PodResourceClaim{Name: name, ResourceClaimName: &claim.Name})
		for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for i := range containers {
				containers[i].Resources.Claims = append(slices.Clone(containers[i].Resources.Claims),
					corev1.ResourceClaim{Name: name})
			}
		}
	}
}

// labelSized is a name cut to the length of a label and of names within a pod; cut names get a hash.
func labelSized(name string) string {
	const longest = validation.DNS1123LabelMaxLength
	if len(name) <= longest {
		return name
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	suffix := "-" + rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
	return name[:longest-len(suffix)] + suffix
}

// ClaimTemplate returns the set's own template for an entry; nil if the entry refers to a ResourceClaimTemplate of the
// cluster.
func ClaimTemplate(
	set *grovev1alpha1.PodCliqueSet, sharing grovev1alpha1.ResourceSharing,
) *resourcev1.ResourceClaimTemplateSpec {
	templates := set.Spec.Template.ResourceClaimTemplates
	for i := range templates {
		if sharing.Namespace == "" && templates[i].Name == sharing.Name {
			return &templates[i].TemplateSpec
		}
	}
	return nil
}

// ResourceClaim is the object of a claim. Owner is the object with which it is deleted; nil without a cluster.
func ResourceClaim(
	set *grovev1alpha1.PodCliqueSet, claim Claim, template *resourcev1.ResourceClaimTemplateSpec,
	owner *metav1.OwnerReference,
) *resourcev1.ResourceClaim {
	made := &resourcev1.ResourceClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "ResourceClaim"},
		ObjectMeta: metadata(set, claim.Name, grovev1alpha1.ComponentResourceClaim, template.Labels, nil),
		Spec:       *template.Spec.DeepCopy(),
	}
	made.Labels[grovev1alpha1.LabelName] = labelSized(claim.Name)
	made.Annotations = maps.Clone(template.Annotations)
	if owner != nil {
		made.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return made
}
