package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

// readPodGroup uses the minima as the sizes of the groups: a PodGroup does not say how many pods there are beyond them.
func readPodGroup(group *schedulingv2alpha2.PodGroup, topologies Topologies) (Workload, error) {
	owns := func(pod *corev1.Pod) bool {
		return pod.Namespace == group.Namespace && pod.Annotations[schedulingv2alpha2.AnnotationPodGroupName] == group.Name
	}
	workload := Workload{Pods: membersBelow(group, ""), Owns: owns}
	claims, err := podGroupClaims(topologies, "", group.Spec.TopologyConstraint, workload.Pods, owns)
	if err != nil {
		return Workload{}, err
	}
	workload.Claims = claims
	for _, subGroup := range group.Spec.SubGroups {
		leaves := leavesBelow(group, subGroup.Name)
		claims, err := podGroupClaims(topologies, subGroup.Name, subGroup.TopologyConstraint,
			membersBelow(group, subGroup.Name),
			func(pod *corev1.Pod) bool {
				return owns(pod) && slices.Contains(leaves, pod.Labels[kaiv1alpha1.LabelSubGroupName])
			})
		if err != nil {
			return Workload{}, err
		}
		workload.Claims = append(workload.Claims, claims...)
	}
	return workload, nil
}

func podGroupClaims(topologies Topologies, group string, constraint *schedulingv2alpha2.TopologyConstraint, pods int,
	selects func(*corev1.Pod) bool,
) ([]Claim, error) {
	if constraint == nil {
		return nil, nil
	}
	return claimsOf(topologies, constraint.Topology, group, constraint.RequiredTopologyLevel,
		constraint.PreferredTopologyLevel, pods, selects)
}

// Minima are how many pods a PodGroup needs to start, by the leaf of its tree. Without subgroups there is one leaf, and
// it has no name.
func Minima(group *schedulingv2alpha2.PodGroup) map[string]int {
	minima := map[string]int{}
	for _, leaf := range leavesBelow(group, "") {
		minima[leaf] = membersBelow(group, leaf)
	}
	return minima
}

// leavesBelow are the leaves of the tree under a group; of a leaf, itself.
func leavesBelow(group *schedulingv2alpha2.PodGroup, name string) []string {
	var leaves []string
	for _, child := range group.Spec.SubGroups {
		if parentOf(child) == name {
			leaves = append(leaves, leavesBelow(group, child.Name)...)
		}
	}
	if leaves == nil {
		return []string{name}
	}
	return leaves
}

func membersBelow(group *schedulingv2alpha2.PodGroup, name string) int {
	if len(group.Spec.SubGroups) == 0 {
		return orOne(group.Spec.MinMember)
	}
	leaves, members := leavesBelow(group, name), 0
	for _, subGroup := range group.Spec.SubGroups {
		if slices.Contains(leaves, subGroup.Name) {
			members += orOne(subGroup.MinMember)
		}
	}
	return members
}

func parentOf(group schedulingv2alpha2.SubGroup) string {
	if group.Parent == nil {
		return ""
	}
	return *group.Parent
}
