package plugin

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A thousand gangs of two pods wait, and a pod that leaves makes too little room for any: what the queue does under its
// lock.
func BenchmarkTheQueuePassesOverGangs(b *testing.B) {
	const gangs = 1000
	on := newPod("", "on")
	on.Spec.NodeName = "n0"
	pods, groups := []*corev1.Pod{on}, []kruntime.Object{}
	for i := range gangs {
		name := fmt.Sprintf("gang%04d", i)
		groups = append(groups, podGroup(name, 2))
		pods = append(pods, newPod(name, name+"-a"), newPod(name, name+"-b"))
	}
	bench := newBench(b, newNodes(1), pods, groups...)
	bench.setNodes(b, newNodes(1))
	for i := range gangs {
		if _, status := bench.schedule(b, pods[1+2*i]); status.Code() != fwk.Unschedulable {
			b.Fatalf("a gang fits: %v", status)
		}
	}
	inner := &filtered{}
	queue := bench.plugin.profiles.queue(inner)
	left := newPod("", "left")
	left.Spec.NodeName = "n0"
	for b.Loop() {
		queue.MoveAllToActiveOrBackoffQueue(klog.Background(), framework.EventAssignedPodDelete, left, nil, nil)
		for _, pod := range pods[1:] {
			if inner.looksAt(pod) {
				b.Fatalf("%s is looked at", pod.Name)
			}
		}
	}
}
