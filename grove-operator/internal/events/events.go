// Package events reports as Kubernetes events what the operator did to a workload: once, after it happened, and after
// the status that shows it unless the next pass writes that. A pass that changes nothing emits none.
package events

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"packtree.dev/shared/brief"
	"packtree.dev/shared/warning"
)

// Reason of an event. The API server joins successive events of one object with the same reason within minutes: their
// count grows, and the first note stays.
type Reason string

// Of PodCliques.
const (
	// PodsCreated: a PodClique made pods.
	PodsCreated Reason = "PodsCreated"
	// PodsDeleted: a PodClique deleted pods that were too many or had ended.
	PodsDeleted Reason = "PodsDeleted"
	// PodsOverdue (warning): pods that were deleted are not gone, so that they were taken out of their Service and are
	// replaced.
	PodsOverdue Reason = "PodsOverdue"
	// GatesOpened: pods of a scaled gang may be scheduled, since their base gang is; the related object is their
	// PodGang.
	GatesOpened Reason = "GatesOpened"
)

// Of PodCliqueSets and PodCliqueScalingGroups.
const (
	// ScaledOut: PodCliques or PodCliqueScalingGroups were created.
	ScaledOut Reason = "ScaledOut"
	// ScaledIn: PodCliques or PodCliqueScalingGroups of replicas that are no longer wanted were deleted.
	ScaledIn Reason = "ScaledIn"
	// GangTerminated (warning): a gang was in breach for longer than terminationDelay, and its pods were deleted.
	GangTerminated Reason = "GangTerminated"
)

// Of PodCliqueSets.
const (
	// TopologyUnavailable (warning): a domain that the set asks for was removed from its ClusterTopology, or the
	// ClusterTopology is gone.
	TopologyUnavailable Reason = "TopologyUnavailable"
	// TopologyAvailable: the domain exists again.
	TopologyAvailable Reason = "TopologyAvailable"
	// TopologyKept (warning): the set named another topology while pods were being placed under the one before, so that
	// their gangs keep the earlier one.
	TopologyKept Reason = "TopologyKept"
	// UpdateStarted: pods of an old template begin to be replaced.
	UpdateStarted Reason = "UpdateStarted"
	// UpdateFinished: every pod has the current template.
	UpdateFinished Reason = "UpdateFinished"
)

// ReconcileFailed (warning), of every kind: an error that was not among lastErrors before.
const ReconcileFailed Reason = "ReconcileFailed"

// action is the operator's action for each reason, for the field of the events API.
var action = map[Reason]string{
	PodsCreated:         "CreatePods",
	PodsDeleted:         "DeletePods",
	PodsOverdue:         "ReplacePods",
	GatesOpened:         "OpenGates",
	ScaledOut:           "Scale",
	ScaledIn:            "Scale",
	GangTerminated:      "TerminateGang",
	TopologyUnavailable: "ResolveTopology",
	TopologyAvailable:   "ResolveTopology",
	TopologyKept:        "ResolveTopology",
	UpdateStarted:       "Update",
	UpdateFinished:      "Update",
	ReconcileFailed:     "Reconcile",
}

// recorded has stable labels: reasons may be added, but do not change.
var recorded = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "packtree_grove_events_total",
	Help: "What the operator did to workloads, by the reason of the event about it, such as GangTerminated.",
}, []string{"reason"})

func init() {
	metrics.Registry.MustRegister(recorded)
	for reason := range action {
		recorded.WithLabelValues(string(reason)).Add(0) // So that the first one is an increase.
	}
}

// Recorder records events. Its zero value records none.
type Recorder struct {
	sink clientevents.EventRecorder
}

// New makes a Recorder from a manager's GetEventRecorder.
func New(sink clientevents.EventRecorder) Recorder {
	return Recorder{sink: sink}
}

// Normal records an event about an object. Note and args are as for fmt.Sprintf.
func (r Recorder) Normal(object client.Object, reason Reason, note string, args ...any) {
	r.record(object, nil, corev1.EventTypeNormal, reason, note, args...)
}

// Warning records an event about an object that needs attention.
func (r Recorder) Warning(object client.Object, reason Reason, note string, args ...any) {
	r.record(object, nil, corev1.EventTypeWarning, reason, note, args...)
}

// NormalWith records an event about an object because of another one.
func (r Recorder) NormalWith(object, related client.Object, reason Reason, note string, args ...any) {
	r.record(object, related, corev1.EventTypeNormal, reason, note, args...)
}

func (r Recorder) record(object, related client.Object, eventType string, reason Reason, note string, args ...any) {
	if r.sink == nil {
		return
	}
	recorded.WithLabelValues(string(reason)).Inc()
	text := brief.Message(fmt.Sprintf(note, args...))
	if eventType == corev1.EventTypeWarning && reason != ReconcileFailed { // The log has the error of a failure itself.
		warning.Log(log.Log, text, "event", reason, "namespace", object.GetNamespace(), "name", object.GetName())
	}
	if related == nil { // A nil client.Object in a runtime.Object would not be nil.
		r.sink.Eventf(object, nil, eventType, string(reason), action[reason], "%s", text)
		return
	}
	r.sink.Eventf(object, related, eventType, string(reason), action[reason], "%s", text)
}
