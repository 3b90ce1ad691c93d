package plugin

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// observe reads a gang for its status: only what the API server shows counts, not what we are about to do.
func (p *Plugin) observe(key gang.Key) (podgroupstatus.Observed, error) {
	pods, err := p.lister.Shown(key)
	if err != nil {
		return podgroupstatus.Observed{}, err
	}
	podGroup, err := p.lister.PodGroup(key)
	if apierrors.IsNotFound(err) {
		return podgroupstatus.Observed{
			Elsewhere: !p.profiles.speaksFor(p.name, pods), Waiting: p.waiting(pods),
			Hold: &gang.Hold{Reason: scheduling.ReasonIncomplete, Message: gang.AwaitsPodGroup(key)},
		}, nil
	}
	if err != nil {
		return podgroupstatus.Observed{}, err
	}
	if pods, err = p.lister.WithFinished(key, pods); err != nil {
		return podgroupstatus.Observed{}, err
	}
	if !p.profiles.speaksFor(p.name, pods) || p.isOfOthers(key, pods) {
		return podgroupstatus.Observed{Elsewhere: true}, nil
	}
	assembled, held := gang.AssembleFor(p.profiles.have, podGroup, pods, p.lister.Levels)
	observed := podgroupstatus.Observed{
		Gang: assembled, Waiting: p.waiting(pods), Hold: held, Status: p.gangs.Status(podGroup),
	}
	if held != nil && held.Reason == scheduling.ReasonInvalid {
		return observed, nil
	}
	observed.Groups, err = p.stand(assembled.Unfinished())
	return observed, err
}

// waiting returns those of some pods that this process may give a node, and that have none.
func (p *Plugin) waiting(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return !gang.Pending(pod) || !p.profiles.have(pod.Spec.SchedulerName)
	})
}

// isOfOthers reports whether a gang is of native groups that another scheduler places, which says itself where they
// stand: no pod asks for a scheduler of this process.
func (p *Plugin) isOfOthers(key gang.Key, pods []*corev1.Pod) bool {
	_, native := nativegroups.RefOf(key.Namespace, key.Name)
	return native && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		return p.profiles.have(pod.Spec.SchedulerName)
	})
}

// on returns those of some pods that are on a node.
func on(node string, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != node })
}

func (p *Plugin) stand(assembled *gang.Gang) ([]solve.Group, error) {
	topologies, err := p.lister.TopologiesOf(assembled)
	if err != nil {
		return nil, err
	}
	nodes := map[string]fwk.NodeInfo{}
	for _, pod := range assembled.Standing {
		name := pod.Spec.NodeName
		node, err := p.lister.Nodes.Get(name)
		switch {
		case err == nil:
			nodes[name] = kubeframework.BareNode(node, on(name, assembled.Standing)...)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading node %s: %w", name, err)
		}
	}
	request := solve.Request{Gang: assembled, Topologies: topologies, View: clusterview.New(nil)}
	request.View.SeeZones(p.lister.Zones)
	for _, node := range nodes {
		request.Nodes = append(request.Nodes, node)
	}
	answer, err := solve.Stand(request)
	if err != nil {
		return nil, err
	}
	if len(answer.Groups) == 0 {
		return nil, errors.New("the engine does not say where the pods stand")
	}
	return answer.Groups, nil
}
