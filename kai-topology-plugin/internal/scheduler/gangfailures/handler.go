// Package gangfailures has the pods of a gang that waits say so as one: each with the gang's own sentence, in one
// event over the whole wait, and without a line in the log. Kube-scheduler, which knows single pods only, reports
// every attempt of each.
package gangfailures

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// quieter is how much more verbose the log must be for kube-scheduler's lines about a pod of a gang than for those
// about other pods.
const quieter = 2

// Handler returns kube-scheduler's failure handler, next, with changes for the pods of gangs: their events, conditions
// and logs come from this package. marks reports whether a pod is marked unschedulable when its gang does not fit.
func Handler(
	next scheduler.FailureHandlerFn, conditions *Conditions, marks func(pod *corev1.Pod) bool,
) scheduler.FailureHandlerFn {
	informed, lister := newInformed(), ganglister.Lister{Pods: conditions.pods}
	return func(ctx context.Context, profile framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time) {
		pod := lister.Latest(info.Pod)
		if _, member := gang.KeyOf(pod); member {
			ctx = klog.NewContext(ctx, klog.FromContext(ctx).V(quieter))
			profile = &gangProfile{Framework: profile, informed: informed, writer: statusWriter{
				sentence: brief.Message(Sentence(status)), unmarked: !marks(pod), conditions: conditions, context: ctx,
			}}
		}
		next(ctx, profile, info, status, nominating, start)
	}
}

// Sentence returns why the pod waits in the words of the plugin that rejected it. kube-scheduler's own text around them
// is left out: its count of nodes changes when the reason does not.
func Sentence(status *fwk.Status) string {
	var misfit *framework.FitError
	if !errors.As(status.AsError(), &misfit) {
		return status.Message()
	}
	diagnosis := &misfit.Diagnosis
	if diagnosis.PreFilterMsg != "" {
		return diagnosis.PreFilterMsg
	}
	if diagnosis.PostFilterMsg != "" {
		return diagnosis.PostFilterMsg
	}
	message := ""
	if nodes := diagnosis.NodeToStatus; nodes != nil && nodes.Len() == 1 {
		nodes.ForEachExplicitNode(func(_ string, only *fwk.Status) { message = only.Message() })
	}
	if message == "" {
		return misfit.Error()
	}
	return message
}

// gangProfile is a profile as the failure handler sees it while it deals with a pod of a gang.
type gangProfile struct {
	framework.Framework
	informed *informed
	writer   statusWriter
}

// EventRecorder returns a recorder that records one event for each pod.
func (p *gangProfile) EventRecorder() events.EventRecorderLogger {
	return &recorder{EventRecorderLogger: p.Framework.EventRecorder(), informed: p.informed, sentence: p.writer.sentence}
}

// APICacher returns what writes the status of the pod.
func (p *gangProfile) APICacher() fwk.APICacher {
	writer := p.writer
	writer.APICacher = p.Framework.APICacher()
	return &writer
}

// statusWriter writes the gang's sentence where kube-scheduler would write its own. The failure handler calls nothing
// but PatchPodStatus.
type statusWriter struct {
	// APICacher is nil unless kube-scheduler itself writes asynchronously.
	fwk.APICacher
	sentence string
	// unmarked is set if the reason must not be the one that makes cluster autoscalers add nodes.
	unmarked   bool
	conditions *Conditions
	context    context.Context
}

// PatchPodStatus has the pod's condition written, and writes the node that room is being made on, if that changes:
// others reckon with it.
func (w *statusWriter) PatchPodStatus(
	pod *corev1.Pod, condition *corev1.PodCondition, nominating *fwk.NominatingInfo,
) (<-chan error, error) {
	if condition != nil {
		worded := *condition
		worded.Message = w.sentence
		if w.unmarked && worded.Reason == corev1.PodReasonUnschedulable {
			worded.Reason = scheduling.PodReasonWaitingForGang
		}
		condition = &worded
	}
	if w.APICacher != nil {
		return w.APICacher.PatchPodStatus(pod, condition, nominating)
	}
	if condition != nil {
		w.conditions.Set(pod, condition)
	}
	if nominating.Mode() != fwk.ModeOverride || pod.Status.NominatedNodeName == nominating.NominatedNodeName {
		return nil, nil
	}
	status := pod.Status.DeepCopy()
	status.NominatedNodeName = nominating.NominatedNodeName
	return nil, util.PatchPodStatus(w.context, w.conditions.client, pod.Name, pod.Namespace, &pod.Status, status)
}
