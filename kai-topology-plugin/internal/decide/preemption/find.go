package preemption

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Request is a gang that does not fit, and the cluster in which it does not.
type Request struct {
	solve.Request
	// Snapshot has the Nodes of the request.
	Snapshot fwk.NodeInfoLister
	// Candidates are the possible victims on the nodes.
	Candidates *Candidates
	// Decide decides the gang by all filters. It is called while the snapshot shows the nodes without the victims.
	Decide func() (*solve.Answer, error)
}

// Choice is the victims for a gang, and the nodes that its pods get.
type Choice struct {
	Victims []Preempted
	// Awaited are the victims, and pods in the way that terminate already.
	Awaited []*corev1.Pod
	// Nodes has the node of each pod of the gang by its name.
	Nodes map[string]string
	// Where is the domain in which room is made, empty if the gang as a whole is not tied to one.
	Where string
	// Broken is how many gangs lose all their pods.
	Broken int
}

// Preempted is a pod that has to leave.
type Preempted struct {
	*corev1.Pod
	// Gang is the zero value for a pod without one.
	Gang gang.Key
}

// Find returns the victims that let the gang fit, by all filters of the profile; nil if there are none.
func Find(ctx context.Context, request Request) (*Choice, error) {
	answer, err := request.cheapest(ctx)
	if err != nil || answer == nil {
		return nil, err
	}
	return request.confirm(answer)
}

// cheapest chooses by what the engine knows of the nodes.
func (r Request) cheapest(ctx context.Context) (*Answer, error) {
	session, err := solve.Open(ctx, r.Request)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	for node, pods := range r.Candidates.byNode() {
		if err := session.Trial.Detach(node, pods); err != nil {
			return nil, err
		}
	}
	levels := map[string][]string{}
	for name, topology := range r.Topologies {
		levels[name] = nodes.Levels(topology)
	}
	question := r.Candidates.question(r.Gang, r.Nodes)
	question.Cluster, question.Gang, question.Levels = session.Trial.Cluster, session.Packing, levels
	question.Leave = session.Trial.Leave
	answer := Choose(question)
	if err := session.Trial.Err(); err != nil {
		return nil, fmt.Errorf("looking at nodes: %w", err)
	}
	return answer, nil
}

func (c *Candidates) question(assembled *gang.Gang, nodes []fwk.NodeInfo) Question {
	question := Question{
		Priority: c.below, Workloads: c.workloads, Budgets: c.budgets.allowed, Begun: begunOn(assembled),
	}
	for _, node := range nodes {
		question.Nodes = append(question.Nodes, node.Node().Name)
	}
	slices.Sort(question.Nodes)
	for _, pod := range c.leaving {
		question.Leaving = append(question.Leaving,
			packing.Pod{ID: clusterview.StandingID(pod), Node: pod.Spec.NodeName})
	}
	return question
}

// begunOn returns the nodes that pods of the gang are nominated for.
func begunOn(assembled *gang.Gang) (nodes []string) {
	for _, pod := range assembled.Pending {
		if node := pod.Status.NominatedNodeName; node != "" {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// confirm decides the gang with all filters on nodes without the victims; nil if it does not fit then.
func (r Request) confirm(answer *Answer) (*Choice, error) {
	made := &Choice{Broken: answer.Cost.Gangs}
	if answer.Topology != "" {
		made.Where = fmt.Sprintf("%s %s", r.Gang.Tree.Root.Constraint.RequiredTopologyLevel, answer.Domain)
	}
	var victims []*corev1.Pod
	for _, v := range answer.Victims {
		workload := &r.Candidates.workloads[v.Workload]
		pod := workload.Pods[v.Pod].pod
		made.Victims = append(made.Victims, Preempted{Pod: pod, Gang: workload.key})
		victims = append(victims, pod)
	}
	var planned *solve.Answer
	err := r.View.Aside(r.Nodes, func() error {
		return kubeframework.Without(r.Snapshot, slices.Concat(r.Candidates.leaving, victims), func() (err error) {
			planned, err = r.Decide()
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("planning without the victims: %w", err)
	}
	if planned.Verdict != scheduling.ReasonPlaced {
		return nil, nil
	}
	made.Nodes = planned.Nodes
	used := slices.Collect(maps.Values(planned.Nodes))
	for _, pod := range r.Candidates.leaving {
		if slices.Contains(used, pod.Spec.NodeName) {
			made.Awaited = append(made.Awaited, pod)
		}
	}
	made.Awaited = append(made.Awaited, victims...)
	return made, nil
}
