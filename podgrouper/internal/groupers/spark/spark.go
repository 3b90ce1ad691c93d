// Package spark groups the pods of a SparkApplication: the driver, which must start, and the executors. The driver
// makes, adds and removes executors while it runs, so no gang can wait for them.
package spark

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// labelRole is a label that Spark puts on pods, with their role: driver or executor.
const labelRole = "spark-role"

const (
	driver   = "driver"
	executor = "executor"
)

// Grouper groups SparkApplications.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	for _, role := range []struct {
		name             string
		needed, expected int32
	}{{driver, 1, 1}, {executor, 0, executors(w.Owner.Content)}} {
		templates := templatesOf(w.Owner.Content, role.name)
		own, wrong := grouping.FromTemplates(templates...)
		tree.Templates = append(tree.Templates, templates...)
		tree.Problems = append(tree.Problems, wrong...)
		tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
			Name: role.name, MinMember: new(role.needed), Expected: new(role.expected), Constraint: own,
			Templates: templates,
		})
	}
	return tree
}

// executors returns how many executors the driver makes at first. With dynamic allocation it is the greatest of three
// numbers in the application.
func executors(application grouping.Fields) int32 {
	instances := application.Count(1, "spec", "executor", "instances")
	if !application.Flag("spec", "dynamicAllocation", "enabled") {
		return instances
	}
	instances = application.Count(0, "spec", "executor", "instances")
	return max(instances, application.Count(0, "spec", "dynamicAllocation", "initialExecutors"),
		application.Count(0, "spec", "dynamicAllocation", "minExecutors"))
}

// templatesOf returns the templates of a role: its own fields, and the pod template of later versions of the operator.
func templatesOf(application grouping.Fields, role string) []grouping.Template {
	fields := application.Map("spec", role)
	path := field.NewPath("spec", role)
	return []grouping.Template{
		{Labels: fields.Texts("labels"), Annotations: fields.Texts("annotations"), Path: path},
		grouping.TemplateAt(fields, path, "template"),
	}
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	role := pod.Labels[labelRole]
	return role, role == driver || role == executor
}
