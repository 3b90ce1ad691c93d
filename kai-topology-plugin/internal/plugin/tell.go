package plugin

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangevents"
)

// tellPlanBroken has an event say that a gang is planned anew, and why. Where that goes on and on, it is counted.
func (p *Plugin) tellPlanBroken(key gang.Key, reason string) {
	p.announce(key, gangevents.News{Type: corev1.EventTypeWarning, Reason: gangevents.PlanBroken, Note: reason})
}

// announce records an event about a PodGroup, if it still exists.
func (p *Plugin) announce(key gang.Key, news gangevents.News) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return // Deleted: there is nobody to tell.
	}
	p.tell.Announce(gangevents.Subject{NamespacedName: key, UID: podGroup.UID}, news)
}
