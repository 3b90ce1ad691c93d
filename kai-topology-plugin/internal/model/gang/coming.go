package gang

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/shared/podgrouptree"
)

// mostComing is how many pods of a gang are looked ahead for. A domain that has room for so many is as good as any.
const mostComing = 1024

// Coming returns the pods that the gang will have besides the pending ones: pods with scheduling gates, and pods that
// are not created yet. A pod that is not created yet is taken to be like the youngest pod of its leaf, with a name that
// no pod can have; for a leaf without pods there is none. A gang with a running pod or without a constraint has none
// either: where its first pods go says nothing about the others.
func (g *Gang) Coming() []*corev1.Pod {
	if len(g.Standing) > 0 || !g.constrained() {
		return nil
	}
	var coming []*corev1.Pod
	for _, pod := range g.Gated {
		free := *pod
		free.Spec.SchedulingGates = nil
		coming = append(coming, &free)
	}
	made := map[string]int{}
	for pod := range g.made() {
		made[LeafOf(pod)]++
	}
	for _, leaf := range g.Tree.Leaves() {
		missing := min(g.expectedOf(leaf)-made[leaf.Name], mostComing-len(coming))
		if missing <= 0 || made[leaf.Name] == 0 {
			continue
		}
		youngest := g.youngestOf(leaf.Name)
		for i := range missing {
			coming = append(coming, another(youngest, i+1))
		}
	}
	return coming[:min(len(coming), mostComing)]
}

// made yields the pods of a gang without running pods.
func (g *Gang) made() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, pods := range [][]*corev1.Pod{g.Pending, g.Gated, g.Done, g.Foreign} {
			for _, pod := range pods {
				if !yield(pod) {
					return
				}
			}
		}
	}
}

func (g *Gang) youngestOf(leaf string) (youngest *corev1.Pod) {
	for pod := range g.made() {
		if LeafOf(pod) == leaf && (youngest == nil || byAge(pod, youngest) > 0) {
			youngest = pod
		}
	}
	return youngest
}

func (g *Gang) expectedOf(leaf *podgrouptree.Group) int {
	if pods, said := g.Expected[leaf.Name]; said {
		return int(pods)
	}
	return int(leaf.MinMember)
}

// constrained reports whether it matters for the others where a pod of the gang stands.
func (g *Gang) constrained() bool {
	return len(g.Topologies()) > 0
}

// another returns a pod that is expected to be made like a given one. The volumes and devices that are made for the
// given one alone will not be those of the other.
func another(like *corev1.Pod, number int) *corev1.Pod {
	pod := *Replacement(like)
	pod.Name = fmt.Sprintf("%s (expected %d)", like.Name, number)
	pod.UID = types.UID(fmt.Sprintf("%s expected %d", like.UID, number))
	pod.Spec.SchedulingGates = nil
	pod.Spec.Volumes = slices.DeleteFunc(slices.Clone(like.Spec.Volumes), func(volume corev1.Volume) bool {
		claim := volume.PersistentVolumeClaim
		return volume.Ephemeral != nil || claim != nil && strings.Contains(claim.ClaimName, like.Name)
	})
	pod.Spec.ResourceClaims = slices.DeleteFunc(slices.Clone(like.Spec.ResourceClaims),
		func(claim corev1.PodResourceClaim) bool {
			return claim.ResourceClaimTemplateName != nil
		})
	return &pod
}

// Replacement returns a pod as its owner makes it again: on no node, and waiting. It goes by the name and the UID of
// the pod that it replaces.
func Replacement(pod *corev1.Pod) *corev1.Pod {
	next := *pod
	next.ResourceVersion, next.DeletionTimestamp, next.Spec.NodeName = "", nil, ""
	next.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return &next
}
