package load

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// The measurements of podgrouper.
const (
	// Job is a large Job: how soon its pods are grouped.
	Job Part = "job"
	// Quiet are the writes while nothing happens.
	Quiet Part = "quiet"
	// Beside is the program's memory beside many pods, and its writes after a restart.
	Beside Part = "beside"
)

// GroupsParts are all parts in their order.
var GroupsParts = []Part{Job, Quiet, Beside}

// GroupsOptions choose the measurements of podgrouper.
type GroupsOptions struct {
	Common
	// Pods is how many pods the Job runs.
	Pods int
	// Repeats is how often a Job is created.
	Repeats int
	// Quiet is how long the part quiet lasts.
	Quiet time.Duration
	// Standing is how many pods exist in the part beside, in Jobs of OfJob pods.
	Standing, OfJob int
}

const grouper = "podgrouper"

// MeasureGroups brings up a dev cluster with podgrouper and no scheduler, measures, and takes it down again.
func MeasureGroups(ctx context.Context, o GroupsOptions) (*OperatorReport, error) {
	grouped := func(pod metav1.Object) bool { return pod.GetAnnotations()[scheduling.AnnotationPodGroupName] != "" }
	return o.observe(ctx, map[string]any{}, &counter{done: grouped}, func(ctx context.Context,
		seen *observed) error {
		b := &groupsBench{observed: seen, options: o}
		return o.takeParts(ctx, []part{
			{Job, b.job}, {Quiet, func(ctx context.Context) error { return b.rest(ctx, o.Quiet) }}, {Beside, b.beside},
		}...)
	}, grouper)
}

// groupsBench is the cluster for measurements of podgrouper.
type groupsBench struct {
	*observed
	options GroupsOptions
}
