package plugin

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// wake lets all pending pods of a gang try again. PreEnqueue still has its say.
func (p *Plugin) wake(key gang.Key) {
	pods, err := p.shownPodsOf(key)
	if err != nil {
		klog.Background().Error(err, "Waking a gang", "podGroup", key)
		return
	}
	var pending []*corev1.Pod
	for _, pod := range pods {
		if gang.Pending(pod) {
			pending = append(pending, pod)
		}
	}
	p.activate(pending)
}

// wakeAsker lets the pod try again that asks for a gang which has no place.
func (p *Plugin) wakeAsker(key gang.Key) {
	asker, waits := p.verdicts.Asker(key)
	if !waits {
		return
	}
	pods, err := p.shownPodsOf(key)
	if err != nil {
		klog.Background().Error(err, "Waking a gang", "podGroup", key)
		return
	}
	p.activate(slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return pod.UID != asker }))
}

// wakeIfReady lets the pods that PreEnqueue holds try again, if it would not hold them any more.
func (p *Plugin) wakeIfReady(key gang.Key) {
	p.activate(p.takeIfReady(key))
}

// takeIfReady returns the pods of a gang that PreEnqueue holds and would not hold any more.
func (p *Plugin) takeIfReady(key gang.Key) []*corev1.Pod {
	if !p.held.any(key) {
		return nil
	}
	reason, err := p.reasonToHold(key, nil)
	if err != nil {
		klog.Background().Error(err, "Looking whether a gang is complete", "podGroup", key)
		return nil
	}
	if reason != "" {
		return nil
	}
	return p.held.take(key)
}

// activate moves pods from wherever they wait in the queue to where they are taken from next.
func (p *Plugin) activate(pods []*corev1.Pod) {
	byName := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byName[pod.Namespace+"/"+pod.Name] = pod
	}
	if len(byName) > 0 {
		p.handle.Activate(klog.Background(), byName)
	}
}

// gangsIn returns the gangs that name a Topology.
func (p *Plugin) gangsIn(topology string) []gang.Key {
	podGroups, err := p.podGroups.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Finding the gangs of a Topology", "topology", topology)
		return nil
	}
	var gangs []gang.Key
	for _, podGroup := range podGroups {
		if namesTopology(podGroup, topology) {
			gangs = append(gangs, keyOfPodGroup(podGroup))
		}
	}
	return gangs
}

func namesTopology(podGroup *scheduling.PodGroup, topology string) bool {
	if podGroup.Annotations[scheduling.AnnotationSharedTopology] == topology {
		return true
	}
	if constraint := podGroup.Spec.TopologyConstraint; constraint != nil && constraint.Topology == topology {
		return true
	}
	for i := range podGroup.Spec.SubGroups {
		if constraint := podGroup.Spec.SubGroups[i].TopologyConstraint; constraint != nil && constraint.Topology == topology {
			return true
		}
	}
	return false
}
