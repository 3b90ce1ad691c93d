package plugin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangevents"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/metrics"
)

// tellSeats counts seats, and tells the gangs that lose one to somebody more important.
func (e *executor) tellSeats(changes []gangstate.SeatChange) {
	for _, seat := range changes {
		if seat.Ended == "" {
			metrics.SeatHeld()
			continue
		}
		metrics.SeatEnded(seat.Ended)
		if seat.Ended == metrics.SeatTaken {
			e.announce(seat.Gang, gangevents.News{
				Type: corev1.EventTypeWarning, Reason: gangevents.SeatTaken,
				Note: fmt.Sprintf("the room on node %s that was held for the successor of pod %s goes to %s, of higher priority",
					seat.Node, seat.Pod, seat.By),
			})
		}
	}
}

// respectSeats gives up the seats of less important gangs that have no room any more beside pods which go to their
// nodes. Where pods have no room beside the seats of others, these came to be after the nodes were looked at: it says
// so then.
func (p *Plugin) respectSeats(by seatTaker, nodes map[string][]*corev1.Pod) (reason string, err error) {
	var taken []*corev1.Pod
	for name, coming := range nodes {
		node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
		if err != nil {
			return "", fmt.Errorf("reading node %s: %w", name, err)
		}
		if p.gangs.Unheard(name, func(pod types.UID) bool { return shows(node, pod) }) {
			return fmt.Sprintf("planned anew, since a pod left node %s meanwhile", name), nil
		}
		for _, seat := range p.gangs.SeatsOn(name, by.gang) {
			lost, err := p.loses(node, seat, coming)
			switch {
			case err != nil:
				return "", err
			case lost && kubeframework.Priority(seat) >= by.priority:
				return fmt.Sprintf("planned anew, since room on node %s is held for the successor of pod %s", name, seat.Name), nil
			case lost:
				taken = append(taken, seat)
			}
		}
	}
	for _, seat := range taken {
		p.effects.do(p.gangs.SeatTaken(seat, by.name))
	}
	return "", nil
}

// seatTaker is who goes to nodes on which seats may be held.
type seatTaker struct {
	name string
	// gang is the zero key for a pod without one.
	gang     gang.Key
	priority int32
}

// loses reports whether a seat has no room beside pods, and had some. As long as the node shows its pod there is none.
func (p *Plugin) loses(node fwk.NodeInfo, seat *corev1.Pod, to []*corev1.Pod) (bool, error) {
	if shows(node, seat.UID) {
		return false, nil
	}
	fits, err := p.view.Resources().FitsBeside(seat, node, to)
	if err != nil || fits {
		return false, err
	}
	return p.view.Resources().FitsBeside(seat, node, nil)
}

// respectedByPlan respects seats for a gang that has just been planned.
func (p *Plugin) respectedByPlan(asked *gang.Gang, placements []gangstate.Placement) string {
	nodes := map[string][]*corev1.Pod{}
	for _, placement := range placements {
		nodes[placement.Node] = append(nodes[placement.Node], placement.Pod)
	}
	name := "PodGroup " + klog.KObj(asked.PodGroup).String()
	taker := seatTaker{name: name, gang: asked.Key(), priority: asked.Priority()}
	reason, err := p.respectSeats(taker, nodes)
	if err != nil {
		return err.Error()
	}
	return reason
}

// respectedByPod respects seats for a pod without a gang that has been put on a node.
func (p *Plugin) respectedByPod(pod *corev1.Pod, node string) *fwk.Status {
	taker := seatTaker{name: "pod " + klog.KObj(pod).String(), priority: kubeframework.Priority(pod)}
	reason, err := p.respectSeats(taker, map[string][]*corev1.Pod{node: {pod}})
	if err != nil {
		return fwk.AsStatus(err)
	}
	if reason == "" {
		return nil
	}
	p.effects.activate([]*corev1.Pod{pod})
	return fwk.NewStatus(fwk.Unschedulable, reason)
}

// shows reports whether a node shows a pod, be it on its way out.
func shows(node fwk.NodeInfo, pod types.UID) bool {
	return slices.ContainsFunc(node.GetPods(), func(info fwk.PodInfo) bool { return info.GetPod().UID == pod })
}
