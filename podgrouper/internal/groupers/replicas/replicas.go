// Package replicas groups the pods of Deployments, ReplicaSets and StatefulSets: one group, of which any single pod may
// start, unless the workload's annotation asks for more together. A StatefulSet that makes its pods one after the other
// cannot ask for more than one.
package replicas

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
)

// Grouper groups workloads with a number of replicas.
var Grouper = grouping.Grouper{Group: group, Template: []string{"spec", "template"}}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	minMember, wrong := grouping.MinMember(w.Owner, w.Owner.Content.Count(1, "spec", "replicas"))
	if minMember > 1 && oneByOne(w.Owner) {
		path := field.NewPath("metadata", "annotations").Key(kai.AnnotationBatchMinMember)
		wrong = append(wrong, field.Invalid(path, minMember,
			"the StatefulSet makes its pods one after the other: give it spec.podManagementPolicy Parallel; 1 is used instead"))
		minMember = 1
	}
	return grouping.Group{MinMember: &minMember, Constraint: constraint, Problems: append(problems, wrong...)}
}

// oneByOne reports whether a pod is made only when those before it are ready, so that waiting for more is in vain.
func oneByOne(owner grouping.Owner) bool {
	return owner.Kind.Kind == "StatefulSet" && owner.Content.Text("spec", "podManagementPolicy") != "Parallel"
}
