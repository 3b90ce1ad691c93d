package plugin

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
)

// bindingsInFlight is how many bindings are under way at a time. All pods of a gang are released together, and the API
// server would be asked to bind a thousand at once: it queues some hundreds, rejects the rest for a second, and takes
// seconds for the served ones, the renewal of our own lease included. This many keep it busy, and are fewer than it
// serves side by side for kube-scheduler and similar clients (98 by default).
const bindingsInFlight = 64

// bindingKey is where the cycle of a pod holds its binding.
const bindingKey fwk.StateKey = "packtree.dev/binding"

// inFlight has an element for each binding under way.
type inFlight chan struct{}

func newInFlight() inFlight { return make(inFlight, bindingsInFlight) }

// binding is one that is under way until it is done.
type binding struct {
	done func()
}

// Clone returns the binding itself: there is one of it.
func (b *binding) Clone() fwk.StateData { return b }

// begin waits until there are few enough, first come, first served.
func (f inFlight) begin(ctx context.Context) (*binding, error) {
	select {
	case f <- struct{}{}:
		return &binding{done: sync.OnceFunc(func() { <-f })}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// PreBindPreFlight says that PreBind has something to do.
func (p *Plugin) PreBindPreFlight(
	context.Context, fwk.CycleState, *corev1.Pod, string,
) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return nil, nil
}

// PreBind waits until the pod may be bound, after what other plugins do before that and may take long, such as making
// a volume; and then looks whether its node is still what it was planned for.
func (p *Plugin) PreBind(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	if status := p.awaitVolumes(ctx, pod); !status.IsSuccess() {
		return status
	}
	begun, err := p.bindings.begin(ctx)
	if err != nil {
		return fwk.AsStatus(err)
	}
	state.Write(bindingKey, begun)
	if reason := p.misplaced(pod, node); reason != "" {
		return fwk.NewStatus(fwk.Unschedulable, reason)
	}
	return nil
}

// awaitVolumes waits until as many pods of a gang that starts as it needs have their volumes. What makes those is done
// for each pod before this.
func (p *Plugin) awaitVolumes(ctx context.Context, pod *corev1.Pod) *fwk.Status {
	key, member := p.lister.KeyOf(pod)
	for member {
		provided := p.effects.provided.next()
		permission, effects := p.gangs.Provided(key, pod.UID)
		p.effects.do(effects)
		switch permission {
		case gangstate.Go:
			return nil
		case gangstate.Return:
			return fwk.NewStatus(fwk.Unschedulable, "a pod of the gang lacks a volume or device")
		case gangstate.Wait:
		}
		select {
		case <-provided:
		case <-ctx.Done():
			return fwk.AsStatus(context.Cause(ctx))
		}
	}
	return nil
}

// broadcast tells all that wait for its next message at once.
type broadcast struct {
	mu   sync.Mutex
	sent chan struct{}
}

// next returns what is closed by the next message.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent == nil {
		b.sent = make(chan struct{})
	}
	return b.sent
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent != nil {
		close(b.sent)
		b.sent = nil
	}
}

// PostBind lets the next binding begin.
func (p *Plugin) PostBind(_ context.Context, state fwk.CycleState, _ *corev1.Pod, _ string) {
	endBinding(state)
}

// endBinding ends the binding of a cycle, if it has begun: its pod is bound, or will not be.
func endBinding(state fwk.CycleState) {
	if begun, err := state.Read(bindingKey); err == nil {
		begun.(*binding).done()
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
	node, err := p.lister.Nodes.Get(name)
	switch {
	case !p.gangs.Misplaced(key, pod.UID, node):
		return ""
	case err != nil:
		return fmt.Sprintf("node %s was deleted", name)
	default:
		return fmt.Sprintf("node %s is in another domain than when the pod was planned", name)
	}
}
