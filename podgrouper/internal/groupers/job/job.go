// Package job groups the pods of a batch Job: one group, of which as many pods start together as the Job's annotation says.
package job

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
)

// Grouper groups batch Jobs.
var Grouper = grouping.Grouper{Group: group, Template: []string{"spec", "template"}}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	minMember, wrong := minMemberOf(w.Owner)
	return grouping.Group{MinMember: &minMember, Constraint: constraint, Problems: append(problems, wrong...)}
}

// minMemberOf returns how many pods must start together: 1 without the annotation, since the pods of a Job need not know
// of each other. A number above the Job's own parallelism stays, with a finding: the Job would otherwise start with fewer
// pods than the user asked for.
func minMemberOf(owner grouping.Owner) (int32, field.ErrorList) {
	written, given := owner.GetAnnotations()[kai.AnnotationBatchMinMember]
	if !given {
		return 1, nil
	}
	path := field.NewPath("metadata", "annotations").Key(kai.AnnotationBatchMinMember)
	number, err := strconv.ParseInt(written, 10, 32)
	if err != nil || number < 1 {
		return 1, field.ErrorList{field.Invalid(path, written, "must be a whole number above 0; 1 is used instead")}
	}
	if most := concurrentPods(owner); most > 0 && number > most {
		return int32(number), field.ErrorList{field.Invalid(path, written,
			fmt.Sprintf("the Job runs at most %d pods at a time, so that it will never start", most))}
	}
	return int32(number), nil
}

// concurrentPods returns how many pods the Job runs at the same time; 0 if it is halted or its spec cannot be read.
func concurrentPods(owner grouping.Owner) int64 {
	if owner.Content == nil {
		return 0
	}
	parallelism := owner.Int(1, "spec", "parallelism")
	return min(parallelism, owner.Int(parallelism, "spec", "completions"))
}
