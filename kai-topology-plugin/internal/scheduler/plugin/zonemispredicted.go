package plugin

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
)

// watchRejected has the plugin hear of its pods that kubelets reject for their zones.
func (p *Plugin) watchRejected(failed cache.SharedIndexInformer) error {
	_, err := failed.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(object any, before bool) {
		pod := object.(*corev1.Pod)
		if !eligibility.RejectedByZone(pod) || pod.Spec.SchedulerName != p.name {
			return
		}
		if owner := eligibility.ZoneOwner(pod); owner != "" {
			p.lister.Zones.Avoid(owner, pod.Spec.NodeName)
			if node, err := p.lister.Nodes.Get(pod.Spec.NodeName); err == nil {
				p.effects.do(p.gangs.NodeChanged(node.Name, node))
			}
		}
		if !before {
			p.mispredicted(pod, metrics.Rejected, rejectionNote(pod, p.predictedFor(pod)))
		}
	}})
	if err != nil {
		return fmt.Errorf("watching rejected pods: %w", err)
	}
	return nil
}

// predictedFor names the zones that were predicted for a pod, as in "NUMA zone node-0"; "" if they are not known.
func (p *Plugin) predictedFor(pod *corev1.Pod) string {
	held, _ := p.lister.Zones.Held(pod.UID)
	return zoneNames(held.In(p.lister.Zones.Node(pod.Spec.NodeName)))
}

func zoneNames(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "NUMA zone " + names[0]
	}
	return "NUMA zones " + strings.Join(names, " and ")
}

// mispredicted counts a pod with other zones than were predicted, and records an event: on the PodGroup of its gang, or
// on the pod if it has none.
func (p *Plugin) mispredicted(pod *corev1.Pod, how metrics.Misprediction, note string) {
	metrics.ZoneMispredicted(how)
	if !p.effects.leads.Load() {
		return
	}
	news := gangevents.News{Type: corev1.EventTypeWarning, Reason: gangevents.ZoneMispredicted, Note: note}
	if key, member := gang.KeyOf(pod); member {
		p.effects.announce(key, news)
		return
	}
	news.Pod = pod
	p.effects.announcer.Announce(gangevents.Subject{}, news)
}

func rejectionNote(pod *corev1.Pod, predicted string) string {
	return fmt.Sprintf("the kubelet of node %s rejected pod %s, for which %s was predicted: %s: %s. Pods like it avoid "+
		"the node until its NodeResourceTopology changes: compare that with the node", pod.Spec.NodeName, pod.Name,
		cmp.Or(predicted, "no NUMA zone"), pod.Status.Reason, cmp.Or(pod.Status.Message, "it does not say why"))
}

func otherZoneNote(pod *corev1.Pod, predicted, got string) string {
	return fmt.Sprintf("the kubelet of node %s took pod %s into %s, and %s was predicted: if its group is to have one "+
		"zone, delete the pod, or have its pods share a ResourceClaim", pod.Spec.NodeName, pod.Name, got, predicted)
}
