package load

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// The measurements of grove-operator.
const (
	// Scale creates a large set, scales it to zero and back.
	Scale Part = "scale"
	// Steady is a large set without any changes.
	Steady Part = "steady"
	// Restart is a start of the operator beside many pods.
	Restart Part = "restart"
	// Many is how long reconciles take while many small sets are created at once.
	Many Part = "many"
	// Life is how long reconciles take when these sets run and one of them changes each second.
	Life Part = "life"
	// Topologies is how fast changes of ClusterTopologies are answered, and reach many sets.
	Topologies Part = "topologies"
)

// SetsParts are all parts in their order.
var SetsParts = []Part{Scale, Steady, Restart, Many, Life, Topologies}

// SetsOptions choose the measurements of grove-operator.
type SetsOptions struct {
	Common
	// Replicas is how many replicas, of two pods each, the large set has.
	Replicas int
	// Quiet is how long the part steady lasts.
	Quiet time.Duration
	// Pods is how many pods of sets, and Foreign how many pods of no set, exist at the restart.
	Pods, Foreign int
	// Sets is how many small sets there are, of six pods each.
	Sets int
	// Changes is how many changes of small sets there are, one a second. It is rounded up to whole rounds.
	Changes int
	// Users is how many sets, of one pod each, use one ClusterTopology.
	Users int
	// QPS and Burst are the operator's runtimeClientConnection; 0 leaves both at their defaults.
	QPS, Burst int
	// Syncs is the operator's concurrentSyncs of every controller; 0 leaves it at its default.
	Syncs int
}

const (
	groveOperator  = "grove-operator"
	dynamoOperator = "dynamo-operator"
)

// MeasureSets brings up a dev cluster with grove-operator and no scheduler, measures, and takes it down again.
func MeasureSets(ctx context.Context, o SetsOptions) (*OperatorReport, error) {
	return o.observe(ctx, map[string]any{"config": o.config()}, podsOfSets(),
		func(ctx context.Context, seen *observed) error {
			b := &setsBench{observed: seen, options: o}
			return o.takeParts(ctx, []part{
				{Scale, b.scale}, {Steady, func(ctx context.Context) error { return b.rest(ctx, o.Quiet) }},
				{Restart, b.restart},
				{Many, b.many}, {Life, b.life}, {Topologies, b.topologies},
			}...)
		}, groveOperator)
}

// setsBench is the cluster for measurements of grove-operator.
type setsBench struct {
	*observed
	options SetsOptions
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

// config is the operator's configuration, without defaults.
func (o SetsOptions) config() map[string]any {
	config := map[string]any{}
	if o.QPS > 0 {
		config["runtimeClientConnection"] = map[string]any{"qps": o.QPS, "burst": o.Burst}
	}
	if o.Syncs > 0 {
		controllers := map[string]any{}
		for _, controller := range []string{"podCliqueSet", "podClique", "podCliqueScalingGroup", "podGang"} {
			controllers[controller] = map[string]any{"concurrentSyncs": o.Syncs}
		}
		config["controllers"] = controllers
	}
	return config
}
