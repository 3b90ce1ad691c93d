package plugin

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
)

// permitTimeout is how long a pod waits on its node for the rest of its gang. All of the gang is in the queue by then
// and takes milliseconds a pod, so this is for unforeseen cases; the plan is then made anew.
const permitTimeout = 2 * time.Minute

// Permit lets a pod wait until the minima of its gang's tree have nodes, and then lets all pods of the gang go.
func (p *Plugin) Permit(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) (*fwk.Status, time.Duration) {
	key, member := p.lister.KeyOf(pod)
	if !member {
		return nil, 0
	}
	version, err := p.lister.Version(key)
	if err != nil {
		return fwk.AsStatus(err), 0
	}
	permission, effects := p.gangs.Permit(key, pod.UID, version, p.claims.unbound(p.lister.Latest(pod)))
	p.effects.do(effects)
	switch permission {
	case gangstate.Wait:
		return fwk.NewStatus(fwk.Wait, "waiting for the other pods that the gang needs"), permitTimeout
	case gangstate.Return:
		return fwk.NewStatus(fwk.Unschedulable, "the plan of the gang was broken"), 0
	default:
		return nil, 0
	}
}
