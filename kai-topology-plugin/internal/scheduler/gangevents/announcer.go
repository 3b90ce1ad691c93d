// Package gangevents records events about gangs: on their PodGroup, or on one of their pods.
package gangevents

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Reasons of events that are not reasons of the condition Scheduled as well.
const (
	// PlanBroken: pods of the gang had been planned onto nodes and something came between; the gang is planned anew.
	PlanBroken = "PlanBroken"
	// Preempted: pods of the gang were stopped to make room for a more important one.
	Preempted = "Preempted"
	// SeatTaken: a node held for a replacement pod of the gang went to a gang of higher priority.
	SeatTaken = "SeatTaken"
	// Stopped: the gang ran below its minimum for longer than it may, and what was left of it was stopped.
	Stopped = "Stopped"
	// Preempting: others were stopped to make room for the gang.
	Preempting = "Preempting"
	// Moved: a pod was evicted so that its gang is whole again elsewhere.
	Moved = "Moved"
	// MoveGivenUp: a move of pods that was decided is not made, or not to its end.
	MoveGivenUp = "MoveGivenUp"
	// UnknownSubGroup: a pod names a leaf that its PodGroup does not have.
	UnknownSubGroup = "UnknownSubGroup"
	// ZoneMispredicted: the kubelet of a pod's node has rejected the pod for its NUMA zones, or has chosen others than
	// were predicted.
	ZoneMispredicted = "ZoneMispredicted"
)

// action is what the scheduler was doing when something was worth an event.
const action = "Scheduling"

// News is what is worth an event.
type News struct {
	// Pod is the pod that the event is about; nil if it is about the PodGroup.
	Pod *corev1.Pod
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one word, Note a sentence.
	Reason, Note string
}

// Subject is the PodGroup that an event is about.
type Subject struct {
	types.NamespacedName
	UID types.UID
	// Version is the resource version at which something happened. News of one reason about one version is counted in
	// one event, which keeps the first note. Without a version that holds for all news of the last minutes: this is for
	// what may happen over and over.
	Version string
}

// Announcer records events.
type Announcer struct {
	recorder events.EventRecorder
}

// New returns an announcer that records with the recorder.
func New(recorder events.EventRecorder) *Announcer {
	return &Announcer{recorder: recorder}
}

// Announce records one event.
func (a *Announcer) Announce(subject Subject, news News) {
	podGroup := &corev1.ObjectReference{
		APIVersion: scheduling.GroupVersion.String(), Kind: "PodGroup",
		Namespace: subject.Namespace, Name: subject.Name, UID: subject.UID, ResourceVersion: subject.Version,
	}
	if ref, native := nativegroups.RefOf(subject.Namespace, subject.Name); native {
		podGroup.APIVersion, podGroup.Kind, podGroup.Name = nativegroups.APIGroup, ref.Kind, ref.Name
	}
	var regarding runtime.Object = podGroup
	if news.Pod != nil {
		regarding = news.Pod
	}
	a.recorder.Eventf(regarding, nil, news.Type, news.Reason, action, "%s", brief.Message(news.Note))
}
