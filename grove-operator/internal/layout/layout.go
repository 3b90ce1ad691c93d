// Package layout says which PodCliques a replica of a PodCliqueSet has, to which gang each belongs, and what its pods
// start after. All other decisions iterate over it, so that they agree on names.
package layout

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// Member is one PodClique of a replica of a set.
type Member struct {
	// Name is the name of the PodClique.
	Name string
	// Replica is the index of the set's replica.
	Replica int32
	// Clique is the PodClique's template.
	Clique *grovev1alpha1.PodCliqueTemplateSpec
	// Group is the scaling group that the clique belongs to; nil for a standalone clique.
	Group *grovev1alpha1.PodCliqueScalingGroupConfig
	// Copy is the index of the copy of that group.
	Copy int32
	// Gang is the name of the PodGang that the PodClique's pods belong to.
	Gang string
	// BaseGang is the name of the base gang that Gang follows; empty if Gang is the base gang itself.
	BaseGang string
}

// GroupMinAvailable is how many copies of a group belong to the base gang.
func GroupMinAvailable(group *grovev1alpha1.PodCliqueScalingGroupConfig) int32 {
	return ptr.Deref(group.MinAvailable, 1)
}

// GroupReplicas is how many copies of a group its template asks for.
func GroupReplicas(group *grovev1alpha1.PodCliqueScalingGroupConfig) int32 {
	return ptr.Deref(group.Replicas, 1)
}

// MinAvailable is how many pods of a clique are its minimum.
func MinAvailable(spec *grovev1alpha1.PodCliqueSpec) int32 {
	return ptr.Deref(spec.MinAvailable, spec.Replicas)
}

// GangMinimum is how many pods the gang of a member needs to start, by the template.
func GangMinimum(set *grovev1alpha1.PodCliqueSet, member Member) int32 {
	var minimum int32
	for _, other := range ofGang(set, member) {
		minimum += MinAvailable(&other.Clique.Spec)
	}
	return minimum
}

// MinimumOf is how many pods a gang needs to start, as it is, and how many of each clique of the template.
func MinimumOf(
	set *grovev1alpha1.PodCliqueSet, member Member, gang *schedulerv1alpha1.PodGang,
) (minimum int32, cliques map[string]int32) {
	cliques = map[string]int32{}
	for _, other := range ofGang(set, member) {
		for _, group := range gang.Spec.PodGroups {
			if group.Name == other.Name {
				minimum += group.MinReplicas
				cliques[other.Clique.Name] += group.MinReplicas
			}
		}
	}
	return minimum, cliques
}

// ofGang returns the PodCliques of a member's gang by the template: a group that is scaled below its minimum for some
// time is missing, and has to be waited for.
func ofGang(set *grovev1alpha1.PodCliqueSet, member Member) []Member {
	if member.BaseGang != "" {
		return Copy(set, member.Replica, member.Group, member.Copy)
	}
	return BaseMembers(set, member.Replica)
}

// BaseMembers returns the PodCliques of the base gang of one replica.
func BaseMembers(set *grovev1alpha1.PodCliqueSet, replica int32) []Member {
	return Members(set, replica, GroupMinAvailable)
}

// Members returns the PodCliques of one replica: the standalone ones, then those of so many copies of each scaling
// group, in the order of the template.
func Members(
	set *grovev1alpha1.PodCliqueSet, replica int32, copies func(*grovev1alpha1.PodCliqueScalingGroupConfig) int32,
) []Member {
	members := Standalone(set, replica)
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		for copyIndex := range Bounded(copies(&groups[i])) {
			members = append(members, Copy(set, replica, &groups[i], copyIndex)...)
		}
	}
	return members
}

// MinRunning is with how many pods a clique keeps running once it had its minimum.
func MinRunning(spec *grovev1alpha1.PodCliqueSpec) int32 {
	return min(ptr.Deref(spec.MinRunning, MinAvailable(spec)), MinAvailable(spec))
}

// GroupOf returns the scaling group of a clique; nil if the clique is standalone.
func GroupOf(set *grovev1alpha1.PodCliqueSet, clique string) *grovev1alpha1.PodCliqueScalingGroupConfig {
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		for _, name := range groups[i].CliqueNames {
			if name == clique {
				return &groups[i]
			}
		}
	}
	return nil
}

// Group returns the scaling group of that name; nil if there is none.
func Group(set *grovev1alpha1.PodCliqueSet, name string) *grovev1alpha1.PodCliqueScalingGroupConfig {
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		if groups[i].Name == name {
			return &groups[i]
		}
	}
	return nil
}

// GroupOfReplica returns the scaling group of the template for the PodCliqueScalingGroup of that name in a replica; nil
// if there is none.
func GroupOfReplica(
	set *grovev1alpha1.PodCliqueSet, replica int32, name string,
) *grovev1alpha1.PodCliqueScalingGroupConfig {
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		if ScalingGroup(set.Name, replica, groups[i].Name) == name {
			return &groups[i]
		}
	}
	return nil
}

// Standalone returns the PodCliques of one replica without a scaling group, in the order of the template.
func Standalone(set *grovev1alpha1.PodCliqueSet, replica int32) []Member {
	var members []Member
	cliques := set.Spec.Template.Cliques
	for i := range cliques {
		if GroupOf(set, cliques[i].Name) != nil {
			continue
		}
		members = append(members, Member{
			Name:    PodClique(set.Name, replica, cliques[i].Name),
			Replica: replica,
			Clique:  &cliques[i],
			Gang:    BaseGang(set.Name, replica),
		})
	}
	return members
}

// Copy returns the PodCliques of one copy of a scaling group, in the order of the template.
func Copy(
	set *grovev1alpha1.PodCliqueSet, replica int32, group *grovev1alpha1.PodCliqueScalingGroupConfig, copyIndex int32,
) []Member {
	gang, base := BaseGang(set.Name, replica), ""
	if minAvailable := GroupMinAvailable(group); copyIndex >= minAvailable {
		gang, base = ScaledGang(set.Name, replica, group.Name, copyIndex, minAvailable), gang
	}
	var members []Member
	cliques := set.Spec.Template.Cliques
	for i := range cliques {
		if in := GroupOf(set, cliques[i].Name); in == nil || in.Name != group.Name {
			continue
		}
		members = append(members, Member{
			Name:     groupPodClique(set.Name, replica, group.Name, copyIndex, cliques[i].Name),
			Replica:  replica,
			Clique:   &cliques[i],
			Group:    group,
			Copy:     copyIndex,
			Gang:     gang,
			BaseGang: base,
		})
	}
	return members
}

// PodsPerCopy is how many pods the template gives to one copy of a scaling group.
func PodsPerCopy(set *grovev1alpha1.PodCliqueSet, group *grovev1alpha1.PodCliqueScalingGroupConfig) int32 {
	var pods int32
	for _, member := range Copy(set, 0, group, 0) {
		pods += member.Clique.Spec.Replicas
	}
	return pods
}

// Find returns the member of a set from which a PodClique was made, by its labels and name.
func Find(set *grovev1alpha1.PodCliqueSet, podClique *grovev1alpha1.PodClique) (Member, bool) {
	replica, ok := ReplicaOf(podClique)
	if !ok {
		return Member{}, false
	}
	candidates := Standalone(set, replica)
	if scalingGroup, ok := podClique.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]; ok {
		candidates = nil
		copyIndex, ok := CopyOf(podClique)
		if group := GroupOfReplica(set, replica, scalingGroup); ok && group != nil {
			candidates = Copy(set, replica, group, copyIndex)
		}
	}
	for _, member := range candidates {
		if member.Name == podClique.Name {
			return member, true
		}
	}
	return Member{}, false
}

// FirstCliques are the cliques with a pod that stands for others: for the set's replicas, then for each group's copies.
func FirstCliques(set *grovev1alpha1.PodCliqueSet) []string {
	var first []string
	if cliques := set.Spec.Template.Cliques; len(cliques) > 0 {
		first = append(first, cliques[0].Name)
	}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		first = append(first, groups[i].CliqueNames[:min(1, len(groups[i].CliqueNames))]...)
	}
	return first
}

// StandsForCopy reports whether one pod of a member stands for its copy of a scaling group.
func StandsForCopy(member Member) bool {
	return member.Group != nil && member.Group.CliqueNames[0] == member.Clique.Name
}

// StandsForReplica reports whether one pod of a member stands for its replica of the set.
func StandsForReplica(set *grovev1alpha1.PodCliqueSet, member Member) bool {
	return set.Spec.Template.Cliques[0].Name == member.Clique.Name && member.Copy == 0
}

// ReplicaOf returns the index of the set's replica that an object was made for.
func ReplicaOf(object metav1.Object) (int32, bool) {
	return indexLabel(object, grovev1alpha1.LabelPodCliqueSetReplicaIndex)
}

// CopyOf returns the index of the scaling group's copy that an object was made for.
func CopyOf(object metav1.Object) (int32, bool) {
	return indexLabel(object, grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex)
}

// PodIndexOf returns the index of a pod in its PodClique.
func PodIndexOf(object metav1.Object) (int32, bool) {
	return indexLabel(object, grovev1alpha1.LabelPodIndex)
}

func indexLabel(object metav1.Object, label string) (int32, bool) {
	index, err := strconv.ParseInt(object.GetLabels()[label], 10, 32)
	return int32(index), err == nil && index >= 0
}
