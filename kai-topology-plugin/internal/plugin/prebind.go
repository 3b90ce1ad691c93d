package plugin

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"
)

// bindingsInFlight is how many bindings are under way at a time. All pods of a gang are let go together, and the API
// server would be asked to bind a thousand at once: it queues some hundreds, turns the rest down for a second, and
// for whom it does serve that takes seconds, the renewal of our own lease included. This many keep it busy, and are
// fewer than it serves side by side for kube-scheduler and those like it (98, unless configured otherwise).
const bindingsInFlight = 64

// slotKey is where the cycle of a pod holds its place among the bindings under way.
const slotKey fwk.StateKey = "packtree.dev/binding"

// slots are the places for bindings under way.
type slots chan struct{}

func newSlots() slots { return make(slots, bindingsInFlight) }

// slot is one place, taken.
type slot struct {
	release func()
}

// Clone returns the slot itself: there is one of it.
func (s *slot) Clone() fwk.StateData { return s }

// take waits for a place. Who asks first is served first.
func (s slots) take(ctx context.Context) (*slot, error) {
	select {
	case s <- struct{}{}:
		return &slot{release: sync.OnceFunc(func() { <-s })}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// PreBindPreFlight says that PreBind has something to do.
func (p *Plugin) PreBindPreFlight(context.Context, fwk.CycleState, *corev1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, nil
}

// PreBind waits until the pod may be bound, after what other plugins do before that and may take long, such as making
// a volume; and then looks whether its node is still what it was planned for.
func (p *Plugin) PreBind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	taken, err := p.binding.take(ctx)
	if err != nil {
		return fwk.AsStatus(err)
	}
	state.Write(slotKey, taken)
	if reason := p.misplaced(pod, node); reason != "" {
		return fwk.NewStatus(fwk.Unschedulable, reason)
	}
	return nil
}

// PostBind makes room for the next binding.
func (p *Plugin) PostBind(_ context.Context, state fwk.CycleState, _ *corev1.Pod, _ string) {
	releaseSlot(state)
}

// releaseSlot gives the place of a cycle back, if it has one: its pod is bound, or will not be.
func releaseSlot(state fwk.CycleState) {
	if taken, err := state.Read(slotKey); err == nil {
		taken.(*slot).release()
	}
}

// misplaced says why a pod of a gang cannot be bound to the node that it was put on, empty if it can: between its
// plan and its binding the node was deleted, or has got into another domain. The pod loses its room there and is
// planned anew.
func (p *Plugin) misplaced(pod *corev1.Pod, name string) string {
	key, member := p.lister.KeyOf(pod)
	if !member {
		return ""
	}
	place, known := p.gangs.PlaceOf(key, pod.UID)
	if !known {
		return ""
	}
	node, err := p.lister.Nodes.Get(name)
	reason := ""
	switch {
	case apierrors.IsNotFound(err):
		reason = fmt.Sprintf("node %s was deleted", name)
	case err != nil:
		reason = fmt.Sprintf("reading node %s: %v", name, err)
	case !place.Is(node.Labels):
		reason = fmt.Sprintf("node %s is in another domain than when the pod was planned", name)
	}
	if reason != "" {
		p.gangs.Refuse(key, pod.UID)
	}
	return reason
}
