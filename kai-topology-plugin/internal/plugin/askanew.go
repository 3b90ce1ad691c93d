package plugin

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// asksElse reports whether filters may see another pod after an update: what can be changed of a pod that waits, such as
// tolerations and labels, and claims for devices that were made for it.
func asksElse(old, pod *corev1.Pod) bool {
	return !maps.Equal(old.Labels, pod.Labels) ||
		!equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses) ||
		!equality.Semantic.DeepEqual(old.Spec, pod.Spec)
}

// askAnew has a gang that has no place looked at again, although the nodes are as they were: its own pods are not.
func (p *Plugin) askAnew(key gang.Key) {
	p.edits.Add(1)
	if answer := p.verdicts.Last(key); answer != nil && len(answer.Nodes) > 0 {
		return // It is being placed; a node that does not take the pod as it is now will say so.
	}
	p.verdicts.Forget(key)
	p.wake(key)
}

// settleAsker has a gang asked for by others, if the pod that asks for it has been bound by somebody else, or is on its way out
// and held back by a finalizer. A gang that somebody else has bound a pod of needs less than before.
func (p *Plugin) settleAsker(key gang.Key, pod *corev1.Pod) {
	asker, waits := p.verdicts.Asker(key)
	if !waits {
		return
	}
	ours := slices.ContainsFunc(p.book.Assumed(key), func(assumed *corev1.Pod) bool { return assumed.UID == pod.UID })
	if asker == pod.UID || gang.Standing(pod) && !ours {
		p.askAnew(key)
	}
}

// remembering returns what has the answer to a gang doubted, once it has been decided, if pods of it or others were changed
// meanwhile: whoever changed them could not know of the answer yet.
func (p *Plugin) remembering(key gang.Key) func() {
	edits := p.edits.Load()
	return func() {
		if p.edits.Load() != edits {
			p.verdicts.Doubt(key)
		}
	}
}

// overtaken says what of that which the plan of a gang was made of has changed since the gang was read, empty if nothing has.
// Topologies is the version of the outlines at that time. It is asked once the plan is open: whoever changes something after that
// breaks it, but who did so before could not know of it.
func (p *Plugin) overtaken(decided *gang.Gang, topologies int) string {
	key := decided.Key()
	if p.outlines.version() != topologies {
		return "planned anew, since a Topology was changed meanwhile"
	}
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil || podGroup.Generation != decided.PodGroup.Generation || !sameCompany(podGroup, decided.PodGroup) {
		return "planned anew, since its PodGroup was changed meanwhile"
	}
	for _, pod := range decided.Pending {
		now := p.latest(pod)
		if now != pod && (!sameMember(pod, now) || asksElse(pod, now)) || now == pod && p.isGone(pod) {
			return fmt.Sprintf("planned anew, since pod %s was changed meanwhile", pod.Name)
		}
	}
	return ""
}

// victimsChanged lets gangs try again that rank above one which may have become a victim, or one of which more may leave.
func (p *Plugin) victimsChanged(key gang.Key) {
	pods, err := p.shownPodsOf(key)
	if err != nil || !slices.ContainsFunc(pods, gang.Standing) {
		return
	}
	standing := &gang.Gang{Standing: pods}
	for _, above := range p.bypass.Above(standing.Priority()) {
		p.wake(above)
	}
}
