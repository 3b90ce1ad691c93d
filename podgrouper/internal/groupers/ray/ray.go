// Package ray groups the pods of a RayCluster, also of one that a RayJob or a RayService made: a leaf for the head and
// for each worker group. A group needs all its replicas, or its minimum with the autoscaler.
package ray

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the Ray operator puts on pods, and values of them.
const (
	labelGroup    = "ray.io/group"
	headGroup     = "headgroup"
	labelNodeType = "ray.io/node-type"
	redisCleanup  = "redis-cleanup"
)

// Grouper groups RayClusters.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf, Apart: apart}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	add := func(name string, needed, expected int32, spec grouping.Fields, path *field.Path) {
		pods := grouping.TemplateAt(spec, path, "template")
		own, wrong := grouping.FromTemplates(pods)
		tree.Templates = append(tree.Templates, pods)
		tree.Problems = append(tree.Problems, wrong...)
		tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
			Name: name, MinMember: &needed, Expected: &expected, Constraint: own, Templates: []grouping.Template{pods},
		})
	}
	cluster := w.Owner.Content
	add(headGroup, 1, 1, cluster.Map("spec", "headGroupSpec"), field.NewPath("spec", "headGroupSpec"))
	scaled := cluster.Flag("spec", "enableInTreeAutoscaling")
	for i, workers := range cluster.List("spec", "workerGroupSpecs") {
		expected := wanted(workers, false)
		add(workers.Text("groupName"), wanted(workers, scaled), expected, workers,
			field.NewPath("spec", "workerGroupSpecs").Index(i))
	}
	return tree
}

// wanted counts the pods of a group, or with scaled only the pods that an autoscaler cannot remove: a replica of a
// group can be several hosts. The operator keeps the number of replicas between the bounds, whatever the group asks
// for; the upper bound wins.
func wanted(workers grouping.Fields, scaled bool) int32 {
	if workers.Flag("suspend") {
		return 0
	}
	most := workers.Count(math.MaxInt32, "maxReplicas")
	least := min(workers.Count(0, "minReplicas"), most)
	replicas := least
	if !scaled {
		replicas = min(max(workers.Count(least, "replicas"), least), most)
	}
	return grouping.Product(replicas, workers.Count(1, "numOfHosts"))
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	name := pod.Labels[labelGroup]
	return name, name != ""
}

// apart reports whether a pod cleans up after the cluster's other pods are gone. Such pods have the labels of the
// head's group.
func apart(pod *corev1.Pod) bool {
	return pod.Labels[labelNodeType] == redisCleanup
}
