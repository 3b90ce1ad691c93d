package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// plannedKey is where the cycle of a gang's pod holds the node that it was planned for.
const plannedKey fwk.StateKey = "packtree.dev/planned"

type planned struct {
	gang    gang.Key
	version gangstate.Version
	node    string
	// yields is set if others may have been promised the room there.
	yields bool
}

// Clone returns the plan itself: it does not change.
func (p planned) Clone() fwk.StateData { return p }

// PreFilter gives a pod of a gang the one node that it was planned for. The first pod to come plans the whole gang.
func (p *Plugin) PreFilter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	if kubeframework.InSimulation(state) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	pod = p.lister.Latest(pod)
	key, member := gang.KeyOf(pod)
	if !member {
		asks := p.askZones(state, pod)
		if !p.respectReservations(state, gang.Key{}, pod) && !asks {
			return nil, fwk.NewStatus(fwk.Skip)
		}
		return nil, nil
	}
	version, err := p.lister.Version(key)
	if apierrors.IsNotFound(err) {
		return nil, hold(gang.AwaitsPodGroup(key))
	}
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	reply, effects := p.gangs.Ask(key, version, pod.UID)
	p.effects.do(effects)
	node := reply.Node
	switch {
	case reply.Wait != "":
		return nil, fwk.NewStatus(fwk.Unschedulable, reply.Wait)
	case reply.Hold != "":
		return nil, hold(reply.Hold)
	case node == "":
		var status *fwk.Status
		if node, status = p.plan(ctx, key, pod, nodes); !status.IsSuccess() {
			return nil, status
		}
	}
	p.askZones(state, pod)
	if reply.Yields {
		p.respectReservations(state, key, pod)
	}
	state.Write(plannedKey, planned{gang: key, version: version, node: node, yields: reply.Yields})
	return &fwk.PreFilterResult{NodeNames: sets.New(node)}, nil
}

// PreFilterExtensions returns nil: what Filter compares does not depend on single pods.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }
