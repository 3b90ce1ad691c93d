package plugin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
)

// reportSeats counts seats, and records an event for gangs that lose one to a pod of higher priority.
func (e *executor) reportSeats(changes []gangstate.SeatChange) {
	for _, seat := range changes {
		if seat.Ended == "" {
			metrics.SeatHeld()
			continue
		}
		metrics.SeatEnded(seat.Ended)
		if seat.Ended == gangstate.SeatTaken {
			e.announce(seat.Gang, gangevents.News{
				Type: corev1.EventTypeWarning, Reason: gangevents.SeatTaken,
				Note: fmt.Sprintf(
					"node %s was held for the replacement of pod %s and goes to %s, which has a higher priority",
					seat.Node, seat.Pod, seat.By),
			})
		}
	}
}

// seen is the cluster as the caches and the snapshot of the cycle show it, for what is looked at once more after a
// decision.
type seen struct{ *Plugin }

// Version returns the version of a gang; false if it has no PodGroup.
func (p seen) Version(key gang.Key) (gangstate.Version, bool) {
	version, err := p.lister.Version(key)
	return version, err == nil
}

// Pod returns a pod as it is now; nil if it is gone.
func (p seen) Pod(pod *corev1.Pod) *corev1.Pod {
	if now := p.lister.Latest(pod); now != pod || !p.lister.IsGone(pod) {
		return now
	}
	return nil
}

// Shows reports whether a node shows a pod, be it on its way out.
func (p seen) Shows(name string, pod types.UID) (bool, error) {
	node, err := p.node(name)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(node.GetPods(), func(info fwk.PodInfo) bool { return info.GetPod().UID == pod }), nil
}

// Displaces reports whether pods that come to a node leave no room there for a pod that had some. As long as the node
// shows the pod itself, nothing does.
func (p seen) Displaces(name string, coming []*corev1.Pod, seat *corev1.Pod) (bool, error) {
	if shown, err := p.Shows(name, seat.UID); shown || err != nil {
		return false, err
	}
	node, err := p.node(name)
	if err != nil {
		return false, err
	}
	fits, err := p.view.Resources().FitsBeside(seat, node, coming)
	if err != nil || fits {
		return false, err
	}
	return p.view.Resources().FitsBeside(seat, node, nil)
}

func (p seen) node(name string) (fwk.NodeInfo, error) {
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	return node, nil
}

// respectSeats makes an assumed pod respect the seats on its node: a pod without a gang, which has the zero key, or an
// optional pod without reserved room.
func (p *Plugin) respectSeats(key gang.Key, pod *corev1.Pod, node string) *fwk.Status {
	taker := gangstate.Taker{
		Name: "pod " + klog.KObj(pod).String(), Gang: key, Priority: kubeframework.Priority(pod),
	}
	changed, effects, err := p.gangs.Respect(taker, map[string][]*corev1.Pod{node: {pod}}, seen{p})
	if err != nil {
		return fwk.AsStatus(err)
	}
	p.effects.do(effects)
	if changed == "" {
		return nil
	}
	p.effects.activate([]*corev1.Pod{pod})
	return fwk.NewStatus(fwk.Unschedulable, changed)
}
