package plugin

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Less takes the pods of one gang one after the other. Pods without a gang are ordered among themselves as
// kube-scheduler orders them: by priority, then by the time at which they were queued.
func (p *Plugin) Less(a, b fwk.QueuedPodInfo) bool {
	first, second := a.GetPodInfo().GetPod(), b.GetPodInfo().GetPod()
	if key, member := gang.KeyOf(first); member && key == keyOf(second) &&
		kubeframework.Priority(first) == kubeframework.Priority(second) {
		return first.Name < second.Name // A gang's pods enter the queue at once, and decisions wait for its lock.
	}
	if order := p.rankOf(a, first).Compare(p.rankOf(b, second)); order != 0 {
		return order < 0
	}
	return first.Name < second.Name
}

func (p *Plugin) rankOf(queued fwk.QueuedPodInfo, pod *corev1.Pod) gang.Rank {
	rank := gang.Rank{Priority: kubeframework.Priority(pod), Since: queued.GetTimestamp()}
	key, member := gang.KeyOf(pod)
	if !member {
		return rank
	}
	// Without a PodGroup the gang is held; all its pods have one place even so, which their ages would not give them.
	rank.Gang, rank.Since, rank.Begun = key, time.Time{}, p.gangs.View(key).Begun
	if podGroup, err := p.lister.PodGroup(key); err == nil {
		rank.Since = podGroup.CreationTimestamp.Time
	}
	return rank
}

func keyOf(pod *corev1.Pod) gang.Key {
	key, _ := gang.KeyOf(pod)
	return key
}
