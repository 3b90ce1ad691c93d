// Package revision groups the pods of a Knative Revision, which are replicas that serve on their own: any single pod
// may start, unless the annotation asks for more together. Each Revision of a Service is a workload of its own, since a
// new one starts while the one before it still serves.
package revision

import (
	"strconv"

	"packtree.dev/podgrouper/internal/grouping"
)

// Annotations that say with how many pods Knative starts a Revision.
const (
	annotationInitialScale = "autoscaling.knative.dev/initial-scale"
	annotationMinScale     = "autoscaling.knative.dev/min-scale"
)

// Grouper groups Revisions.
var Grouper = grouping.Grouper{Group: group}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	limit := grouping.Limit{Pods: started(w.Owner.GetAnnotations()), Raise: "the annotation " + annotationMinScale}
	minMember, wrong := grouping.OwnMinMember(w.Owner, limit)
	return grouping.Group{MinMember: &minMember, Expected: &limit.Pods, Constraint: constraint,
		Problems: append(problems, wrong...)}
}

// started returns how many pods Knative makes before any has answered a request. More are made only with the load on
// these, so none can wait for them. A Revision that begins with none gets one pod with the first request.
func started(annotations map[string]string) int32 {
	return max(1, scale(annotations, annotationInitialScale, 1), scale(annotations, annotationMinScale, 0))
}

func scale(annotations map[string]string, key string, otherwise int32) int32 {
	number, err := strconv.ParseInt(annotations[key], 10, 32)
	if err != nil {
		return otherwise
	}
	return int32(number)
}
