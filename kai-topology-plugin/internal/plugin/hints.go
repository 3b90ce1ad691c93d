package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister names what can make room for a pod that we turned down. PodGroups, Topologies and new pods of a gang
// are not among them: they wake their gang themselves, see watch.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	node := fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	pod := fwk.Delete | fwk.UpdatePodScaleDown
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: node}, QueueingHintFn: nodeHelps},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: pod}, QueueingHintFn: podHelps},
	}, nil
}

// nodeHelps is for a node that is new or changed.
func nodeHelps(_ klog.Logger, _ *corev1.Pod, _, object any) (fwk.QueueingHint, error) {
	if node, ok := object.(*corev1.Node); ok && node.Spec.Unschedulable {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// podHelps is for a pod that is deleted, or now asks for less. One without a node had taken nothing.
func podHelps(_ klog.Logger, waiting *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	pod, ok := before.(*corev1.Pod)
	if !ok {
		pod, ok = after.(*corev1.Pod)
	}
	if ok && pod.Spec.NodeName == "" && pod.UID != waiting.UID {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
