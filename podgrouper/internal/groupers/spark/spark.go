// Package spark groups the pods of a SparkApplication: the driver, which must start, and the executors, which the driver
// makes when it runs, so that no gang can wait for them.
package spark

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/podgrouper/internal/grouping"
)

// labelRole is put on pods by Spark: driver or executor.
const labelRole = "spark-role"

// Grouper groups SparkApplications.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	return grouping.Group{
		Constraint: constraint,
		Problems:   problems,
		SubGroups: []grouping.SubGroup{
			{Name: "driver", MinMember: new(int32(1))},
			{Name: "executor", MinMember: new(int32(0))},
		},
	}
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	role := pod.Labels[labelRole]
	return role, role == "driver" || role == "executor"
}
