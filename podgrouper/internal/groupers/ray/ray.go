// Package ray groups the pods of a RayCluster, also of one that a RayJob or a RayService made: a leaf for the head and for
// each worker group. A group needs all of its replicas, or its minimum where the autoscaler decides.
package ray

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the Ray operator puts on pods, and its name of the head's group.
const (
	labelGroup = "ray.io/group"
	headGroup  = "headgroup"
)

// Grouper groups RayClusters.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf, Template: []string{"spec", "headGroupSpec", "template"}}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	add := func(name string, needed int32, spec grouping.Fields, path *field.Path) {
		own, wrong := grouping.FromAnnotations(spec.Texts("template", "metadata", "annotations"), path.Child("template", "metadata", "annotations"))
		tree.Problems = append(tree.Problems, wrong...)
		tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{Name: name, MinMember: &needed, Constraint: own})
	}
	cluster := w.Owner.Content
	add(headGroup, 1, cluster.Map("spec", "headGroupSpec"), field.NewPath("spec", "headGroupSpec"))
	scaled := cluster.Flag("spec", "enableInTreeAutoscaling")
	for i, workers := range cluster.List("spec", "workerGroupSpecs") {
		add(workers.Text("groupName"), needed(workers, scaled), workers, field.NewPath("spec", "workerGroupSpecs").Index(i))
	}
	return tree
}

// needed counts pods: a replica of a group can be several hosts.
func needed(workers grouping.Fields, scaled bool) int32 {
	if workers.Flag("suspend") {
		return 0
	}
	minimum := workers.Count(0, "minReplicas")
	replicas := workers.Count(minimum, "replicas")
	if scaled {
		replicas = minimum
	}
	return grouping.Product(replicas, workers.Count(1, "numOfHosts"))
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	name := pod.Labels[labelGroup]
	return name, name != ""
}
