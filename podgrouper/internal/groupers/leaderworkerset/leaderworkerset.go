// Package leaderworkerset groups the pods of a LeaderWorkerSet: a leaf for each of its groups of a leader and its workers,
// which starts as a whole. The groups serve independently, so one of them is enough.
package leaderworkerset

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// labelGroupIndex is put on pods by the LeaderWorkerSet controller.
const labelGroupIndex = "leaderworkerset.sigs.k8s.io/group-index"

// Grouper groups LeaderWorkerSets.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	set := w.Owner.Content
	template := []string{"spec", "leaderWorkerTemplate", "workerTemplate", "metadata", "annotations"}
	own, wrong := grouping.FromAnnotations(set.Texts(template...), field.NewPath(template[0], template[1:]...))
	tree := grouping.Group{Constraint: constraint, Problems: append(problems, wrong...)}
	for i := range set.Count(1, "spec", "replicas") {
		tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
			Name:       name(strconv.Itoa(int(i))),
			MinMember:  new(needed(set)),
			Constraint: own,
		})
	}
	if len(tree.SubGroups) > 0 {
		tree.MinSubGroup = new(int32(1))
	}
	return tree.OrLeaf()
}

// needed returns how many pods of a group start together: all, unless the workers are made only when the leader is ready.
func needed(set grouping.Fields) int32 {
	if set.Text("spec", "startupPolicy") == "LeaderReady" {
		return 1
	}
	return set.Count(1, "spec", "leaderWorkerTemplate", "size")
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	index := pod.Labels[labelGroupIndex]
	return name(index), index != ""
}

func name(index string) string {
	return "group-" + index
}
