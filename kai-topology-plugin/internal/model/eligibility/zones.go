package eligibility

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

// zonePrefix begins the name of a resource that stands for a demand, as a sentence has it: "1 × 2 nvidia.com/gpu in
// one NUMA zone".
const zonePrefix = "× "

// ZoneResource names the resource that packing counts a demand by. Every pod with the demand requests one unit. A node
// with a kubelet that rejects pods by zone has as many units as pods with the demand fit there.
func ZoneResource(demand *zones.Demand) string { return zonePrefix + demand.String() }

// IsZoneResource reports whether ZoneResource returns the name for some demand.
func IsZoneResource(name string) bool { return strings.HasPrefix(name, zonePrefix) }

// ZoneOwner names the owner of a pod that avoids nodes after a kubelet has rejected one of its pods: the gang, or else
// the controller; "" for a pod by itself.
func ZoneOwner(pod *corev1.Pod) string {
	if key, member := gang.KeyOf(pod); member {
		return "gang " + key.String()
	}
	if controller := metav1.GetControllerOf(pod); controller != nil {
		return "controller " + string(controller.UID)
	}
	return ""
}

// rejectedBefore is the objection to a node with a kubelet that has rejected a pod of the same owner.
const rejectedBefore = "a kubelet that rejected such a pod for its NUMA zones"

// ZoneObjection says, as a noun, why a node takes no pod with a demand even when it is empty, or none of an owner any
// more; "" if it may take one.
func ZoneObjection(catalogue *zones.Catalogue, demand *zones.Demand, owner, node string) string {
	if catalogue.Avoids(owner, node) {
		return rejectedBefore
	}
	return catalogue.Node(node).Never(demand)
}

// ZonesTooFull is the objection to a node with zones that take the pod only when they are empty.
const ZonesTooFull = "NUMA zones too full"

// rejection is the reason in a pod's status after the kubelet has rejected it for its NUMA zones.
const rejection = "TopologyAffinityError"

// RejectedByZone reports whether the kubelet of a pod's node has rejected it for its NUMA zones.
func RejectedByZone(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == rejection && pod.Spec.NodeName != ""
}

// UsageOn is what is free in the zones of a node, given the pods on it and others that will stand there; nil if its
// kubelet takes pods whatever their zones.
func UsageOn(catalogue *zones.Catalogue, info fwk.NodeInfo, others ...*corev1.Pod) *zones.Usage {
	if !catalogue.Node(info.Node().Name).Enforces() {
		return nil
	}
	pods := make([]*corev1.Pod, 0, len(info.GetPods())+len(others))
	for _, pod := range info.GetPods() {
		pods = append(pods, pod.GetPod())
	}
	return catalogue.Usage(info.Node().Name, append(pods, others...))
}
