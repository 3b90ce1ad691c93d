package plugin

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// reservationsKey is where the cycle of a pod without a gang holds the room that plans reserve.
const reservationsKey fwk.StateKey = "packtree.dev/reservations"

type reservations struct {
	kept clusterview.Reserved
	// turnAway records that the pod was kept from some of the room, once: many nodes are filtered at the same time, and
	// may each turn it away.
	turnAway func()
}

// Clone returns the reservations themselves: they do not change.
func (r *reservations) Clone() fwk.StateData { return r }

// respectReservations takes note of what plans reserve that a pod of a gang, or without one, has to respect, and
// reports whether any does.
func (p *Plugin) respectReservations(state fwk.CycleState, key gang.Key, pod *corev1.Pod) bool {
	rank := gang.Rank{Gang: key, Priority: kubeframework.Priority(pod), Since: pod.CreationTimestamp.Time}
	kept := p.gangs.Reserved(rank, nil)
	reserved := kept.Room
	if key == (gang.Key{}) {
		reserved = reserved.And(kept.Overdue)
	}
	if len(reserved) > 0 {
		state.Write(reservationsKey, &reservations{
			kept: reserved, turnAway: sync.OnceFunc(func() { p.gangs.TurnAway(pod) }),
		})
	}
	return len(reserved) > 0
}

// Filter keeps a pod of a gang to the node that it was planned for, since kube-scheduler also tries nodes that
// PreFilter did not name. Others are kept from the room that planned pods will take.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	plan, err := state.Read(plannedKey)
	if err == nil && plan.(planned).node != node.Node().Name {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			"node is not the one planned for the pod")
	}
	data, err := state.Read(reservationsKey)
	if err != nil {
		return p.filterZones(state, node, nil)
	}
	respected := data.(*reservations)
	reserved := respected.kept.On(node)
	if refused := p.filterZones(state, node, reserved); refused != nil {
		return refused
	}
	if len(reserved) == 0 {
		return nil
	}
	fits, err := p.view.Resources().FitsBeside(pod, node, reserved)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if !fits {
		if plan == nil {
			respected.turnAway() // A gang asks anew by itself.
		}
		return fwk.NewStatus(fwk.Unschedulable, "node's free room is reserved for a gang that is being placed")
	}
	return nil
}
