package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

const setsExplanation = `Brings up a dev cluster with grove-operator and no scheduler, so that no pod gets a node after
its gate is removed.

scale    One set is created, scaled to zero and back. The clock runs from the request until the last pod has lost the
         operator's gate, or is gone; AT REST is when the operator has nothing left to do and all statuses are written.
steady   Nothing happens: what is written, and what the operator computes.
restart  The operator is started anew beside many pods, and again with as many pods of no set in addition.
many     Small sets are created at once: how long each reconcile takes, by controller-runtime's histogram, when there is
         more to do than can be done.
life     The small sets stand, and once a second one of them is edited, or it or a part of it is scaled out or in: the
         same histogram. No pod has a node, so that none becomes ready.

topologies  Many small sets use one ClusterTopology. Levels of another one change; a level of theirs is removed and
            restored, and the clock runs until the conditions of all sets show it in a watch; then their topology is
            deleted: how long the API server takes to answer.

WRITTEN is what the API server counted, for all programs, without leases and nodes.`

// setsOptions choose the measurements of grove-operator; the flags say what they mean.
type setsOptions struct {
	common
	Replicas, Pods, Foreign, Sets, Changes, Users int
	Quiet                                         time.Duration
}

func setsCommand() *cobra.Command {
	o := setsOptions{}
	command := measurement(cobra.Command{
		Use: "sets", Short: "Measure grove-operator: pods a second, writes, memory, reconciles", Long: setsExplanation,
	}, &o.common, func(ctx context.Context) (report, error) { return measureSets(ctx, o) },
		"scale", "steady", "restart", "many", "life", "topologies")
	flags := command.Flags()
	flags.IntVar(&o.Replicas, "replicas", 500, "replicas, of two pods each, of the large set")
	flags.DurationVar(&o.Quiet, "quiet", time.Minute, "how long the part steady looks")
	flags.IntVar(&o.Pods, "pods", 10000, "pods of sets at the restart")
	flags.IntVar(&o.Foreign, "foreign", 10000, "pods of nobody's at the second restart; 0 leaves it out")
	flags.IntVar(&o.Sets, "sets", 200, "small sets, of six pods each")
	flags.IntVar(&o.Changes, "changes", 63,
		"changes of small sets in the part life, one a second; rounded up to whole rounds of seven")
	flags.IntVar(&o.Users, "users", 1000, "sets, of one pod each, that use one ClusterTopology")
	return command
}

const (
	groveOperator  = "grove-operator"
	dynamoOperator = "dynamo-operator"
)

// measureSets brings up a dev cluster with grove-operator and no scheduler, measures, and takes it down again.
func measureSets(ctx context.Context, o setsOptions) (*operatorReport, error) {
	return o.observe(ctx, podsOfSets(), func(ctx context.Context, seen *observed) error {
		b := &setsBench{observed: seen, options: o}
		steady := func(ctx context.Context) error { return b.rest(ctx, o.Quiet) }
		return o.takeParts(ctx, part{"scale", b.scale}, part{"steady", steady}, part{"restart", b.restart},
			part{"many", b.many}, part{"life", b.life}, part{"topologies", b.topologies})
	}, groveOperator)
}

// setsBench is the cluster for measurements of grove-operator.
type setsBench struct {
	*observed
	options setsOptions
}

// podsOfSets are done when they no longer have a gate of the operator.
func podsOfSets() *counter {
	return &counter{
		labels: grovev1alpha1.LabelManagedBy + "=" + grovev1alpha1.LabelManagedByValue,
		done: func(object metav1.Object) bool {
			pod, is := object.(*corev1.Pod)
			return is && len(pod.Spec.SchedulingGates) == 0
		},
	}
}
