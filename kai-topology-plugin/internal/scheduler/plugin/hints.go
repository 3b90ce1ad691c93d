package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	"packtree.dev/shared/packing"
)

// EventsToRegister names what can make room for a pod that we turned down. PodGroups, Topologies and new pods of a gang
// are not among them: they wake their gang themselves, see watch.
func (p *Plugin) EventsToRegister(context.Context) (registered []fwk.ClusterEventWithHint, _ error) {
	for _, hint := range p.hints.all() {
		ask := func(_ klog.Logger, pod *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
			pod = p.hints.grouped(pod)
			if helps, err := hint.helps(p.gangs.Waiting(keyOf(pod), pod), before, after); helps || err != nil {
				return fwk.Queue, err
			}
			return fwk.QueueSkip, nil
		}
		registered = append(registered, fwk.ClusterEventWithHint{Event: hint.event, QueueingHintFn: ask})
	}
	return registered, nil
}

// hint says whether an event of some kind may help a pod that waits.
type hint struct {
	event fwk.ClusterEvent
	helps helps
}

type helps func(waiting *gangstate.Waiting, before, after any) (bool, error)

func hintOn(resource fwk.EventResource, changes fwk.ActionType, helps helps) hint {
	return hint{fwk.ClusterEvent{Resource: resource, ActionType: changes}, helps}
}

func (h *queueingHints) all() []hint {
	node := fwk.Add | fwk.Delete | fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	pod := fwk.Delete | fwk.UpdatePodScaleDown
	return append(h.onRules(), hintOn(fwk.Node, node, h.nodeHelps), hintOn(fwk.Pod, pod, h.podHelps))
}

// queueingHints say whether an event can help a pod that waits; of nodes and of room gangstate knows it.
type queueingHints struct {
	lister *ganglister.Lister
	view   *clusterview.View
	freed  freed
}

// freed is what was free on a node when a pod had left it. kube-scheduler asks about the same pod for each that waits,
// one after the other.
type freed struct {
	by   *corev1.Pod
	free packing.Resources
}

// grouped returns a pod with its gang. The queue may have it from before it was grouped.
func (h *queueingHints) grouped(waiting *corev1.Pod) *corev1.Pod {
	if _, member := gang.KeyOf(waiting); member {
		return waiting
	}
	return h.lister.Latest(waiting)
}

func (h *queueingHints) nodeHelps(waiting *gangstate.Waiting, before, after any) (bool, error) {
	old, _ := before.(*corev1.Node)
	node, _ := after.(*corev1.Node)
	return waiting.NodeHelps(old, node), nil
}

func (h *queueingHints) podHelps(waiting *gangstate.Waiting, before, after any) (bool, error) {
	pod, ok := before.(*corev1.Pod)
	if !ok {
		pod, _ = after.(*corev1.Pod)
	}
	return waiting.PodHelps(pod, func(node string) packing.Resources {
		if h.freed.by != pod {
			h.freed = freed{pod, h.lister.Free(node)}
		}
		return h.freed.free
	}), nil
}
