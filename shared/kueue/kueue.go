// Package kueue has the names by which workloads ask Kueue for quota, and what pods say of it.
package kueue

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels of workloads and of pods.
const (
	// LabelQueue names the LocalQueue that a workload waits in for its quota.
	LabelQueue = "kueue.x-k8s.io/queue-name"
	// LabelPriorityClass names a WorkloadPriorityClass, the order inside Kueue.
	LabelPriorityClass = "kueue.x-k8s.io/priority-class"
	// LabelGroup makes one workload of all pods with the same value.
	LabelGroup = "kueue.x-k8s.io/pod-group-name"
	// LabelCounted is on every pod that Kueue counts, alone or with its group.
	LabelCounted = "kueue.x-k8s.io/managed"
)

// Annotations of the pods of a group.
const (
	// AnnotationGroupSize is how many pods the group has. It is the same on all of them.
	AnnotationGroupSize = "kueue.x-k8s.io/pod-group-total-count"
	// AnnotationServing, when "true", says that the group runs until it is deleted, and that its pods may be replaced.
	AnnotationServing = "kueue.x-k8s.io/pod-group-serving"
	// AnnotationRole is the same on pods that are counted together.
	AnnotationRole = "kueue.x-k8s.io/role-hash"
)

const (
	// Finalizer is on every pod for which Kueue counts quota.
	Finalizer = "kueue.x-k8s.io/managed"
	// GateAdmission is the scheduling gate of a pod that waits for quota.
	GateAdmission = "kueue.x-k8s.io/admission"
	// ConditionEvicted is the condition of a pod that Kueue deletes, to give its quota to others.
	ConditionEvicted corev1.PodConditionType = "TerminationTarget"
	// MaxRoles is how many different values of AnnotationRole a group may have.
	MaxRoles = 8
)

// TopologyAnnotations are those by which Kueue places pods itself.
var TopologyAnnotations = []string{
	"kueue.x-k8s.io/podset-required-topology",
	"kueue.x-k8s.io/podset-preferred-topology",
	"kueue.x-k8s.io/podset-unconstrained-topology",
	"kueue.x-k8s.io/podset-slice-required-topology",
	"kueue.x-k8s.io/podset-slice-required-topology-constraints",
}

// GroupName makes a value of LabelGroup of a name. One that is too long is cut, and ends in a hash of the whole.
func GroupName(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	hash := fnv.New32a()
	hash.Write([]byte(name))
	end := fmt.Sprintf("-%08x", hash.Sum32())
	return name[:validation.LabelValueMaxLength-len(end)] + end
}

// QueueProblems returns what is wrong with the name of a LocalQueue in LabelQueue.
func QueueProblems(queue string) []string {
	if problems := validation.IsValidLabelValue(queue); len(problems) > 0 {
		return problems
	}
	return validation.IsDNS1123Subdomain(queue)
}

// Managed reports whether a pod is counted in a group of Kueue.
func Managed(pod *corev1.Pod) bool { return pod.Labels[LabelGroup] != "" }

// CountedAlone reports whether a pod is a workload by itself: its quota goes with it.
func CountedAlone(pod *corev1.Pod) bool {
	group := pod.Labels[LabelGroup]
	return pod.Labels[LabelCounted] == "true" && (group == "" || group == GroupName(pod.Name))
}

// Waits reports whether a pod waits for quota.
func Waits(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates,
		func(gate corev1.PodSchedulingGate) bool { return gate.Name == GateAdmission })
}

// EvictedWith reports whether Kueue has evicted a pod, and with it the group of another one.
func EvictedWith(pod, other *corev1.Pod) bool {
	return Evicted(pod) && Managed(pod) && pod.Namespace == other.Namespace &&
		pod.Labels[LabelGroup] == other.Labels[LabelGroup]
}

// Evicted reports whether Kueue has taken the quota of a pod, which it deletes.
func Evicted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == ConditionEvicted && condition.Status == corev1.ConditionTrue
	})
}
