package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/preemption"
	"packtree.dev/kai-topology-plugin/internal/solve"
	"packtree.dev/kai-topology-plugin/internal/translation"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// choose returns who leaves so that the gang fits, by all filters of the profile; nil if nobody's leaving helps.
func (p *Plugin) choose(ctx context.Context, assembled *gang.Gang, nodes fwk.NodeInfoLister, all []fwk.NodeInfo, crowd *crowd) (*choice, error) {
	answer, err := p.cheapest(ctx, assembled, all, crowd)
	if err != nil || answer == nil {
		return nil, err
	}
	return p.confirm(ctx, assembled, nodes, all, crowd, answer)
}

// cheapest asks the engine.
func (p *Plugin) cheapest(ctx context.Context, assembled *gang.Gang, all []fwk.NodeInfo, crowd *crowd) (*preemption.Answer, error) {
	topologies, err := p.topologiesOf(assembled)
	if err != nil {
		return nil, err
	}
	p.meetRelated(assembled)
	session, err := decision.Open(ctx, decision.Question{
		Gang: assembled, Topologies: topologies, View: p.view, Nodes: all, Reserved: p.keptFrom(ctx, assembled, all).room,
	})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	for node, pods := range crowd.byNode() {
		if err := session.Trial.Detach(node, pods); err != nil {
			return nil, err
		}
	}
	levels := map[string][]string{}
	for name, topology := range topologies {
		levels[name] = translation.LevelsOf(topology)
	}
	question := crowd.question(assembled, all)
	question.Cluster, question.Gang, question.Levels = session.Trial.Cluster, session.Packing, levels
	answer := preemption.Choose(question)
	if err := session.Trial.Err(); err != nil {
		return nil, fmt.Errorf("looking at nodes: %w", err)
	}
	return answer, nil
}

func (c *crowd) question(assembled *gang.Gang, nodes []fwk.NodeInfo) preemption.Question {
	question := preemption.Question{
		Priority: assembled.Rank().Priority, Workloads: c.workloads, Budgets: c.budgets.allowed, Device: isDevice, Begun: begunOn(assembled),
	}
	for _, node := range nodes {
		question.Nodes = append(question.Nodes, node.Node().Name)
	}
	slices.Sort(question.Nodes)
	for _, pod := range c.leaving {
		question.Leaving = append(question.Leaving, clusterview.StandingID(pod))
	}
	return question
}

// isDevice tells extended resources, such as GPUs, by the domain in their name.
func isDevice(resource string) bool {
	return strings.Contains(resource, "/") && !strings.HasPrefix(resource, corev1.DefaultResourceRequestsPrefix)
}

// begunOn returns the nodes that pods of the gang have been told they would get.
func begunOn(assembled *gang.Gang) (nodes []string) {
	for _, pod := range assembled.Pending {
		if node := pod.Status.NominatedNodeName; node != "" {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// confirm plans the gang with all filters on nodes without the victims; nil if it does not fit then.
func (p *Plugin) confirm(ctx context.Context, assembled *gang.Gang, nodes fwk.NodeInfoLister, all []fwk.NodeInfo, crowd *crowd, answer *preemption.Answer) (*choice, error) {
	made := &choice{awaited: slices.Clone(crowd.leaving), broken: answer.Cost.Gangs}
	if answer.Topology != "" {
		made.where = fmt.Sprintf("%s %s", assembled.Tree.Root.Constraint.RequiredTopologyLevel, answer.Domain)
	}
	for _, v := range answer.Victims {
		pod := crowd.pods[v.Workload][v.Pod]
		made.victims = append(made.victims, victim{pod: pod, gang: crowd.gangs[v.Workload]})
		made.awaited = append(made.awaited, pod)
	}
	var planned *decision.Answer
	plan := func() error {
		question, _, err := p.ask(ctx, assembled, all)
		if err != nil {
			return err
		}
		planned, err = solve.Solve(ctx, question)
		return err
	}
	err := p.view.Aside(all, func() error { return kubeframework.Without(nodes, made.awaited, plan) })
	if err != nil {
		return nil, fmt.Errorf("planning without the victims: %w", err)
	}
	if planned.Verdict != scheduling.ReasonPlaced {
		return nil, nil
	}
	made.nodes = planned.Nodes
	made.awaited = slices.DeleteFunc(made.awaited, func(pod *corev1.Pod) bool { return !made.uses(pod.Spec.NodeName) && !made.takes(pod) })
	return made, nil
}

// uses reports whether pods of the gang go to the node.
func (c *choice) uses(node string) bool {
	for _, used := range c.nodes {
		if used == node {
			return true
		}
	}
	return false
}

func (c *choice) takes(pod *corev1.Pod) bool {
	return slices.ContainsFunc(c.victims, func(v victim) bool { return v.pod == pod })
}
