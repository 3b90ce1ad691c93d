package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// performance is how a plan went.
type performance struct {
	// nodes has the node of each pod that found one, by name, and order the names as they entered.
	nodes map[string]string
	order []string
	// waiting are the pods that found none, and refused why the first of them did not.
	waiting []*corev1.Pod
	refused *refusal
}

// refusal is a pod that was turned away.
type refusal struct {
	pod *corev1.Pod
	// node is the one that the engine had planned.
	node fwk.NodeInfo
	why  string
}

func (r *refusal) sentence() string {
	return fmt.Sprintf("pod %s is turned away by %s, on node %s as on others of its domain", r.pod.Name, r.why, r.node.Node().Name)
}

// audition is what the filters prepared for one kind of pod, with those on the stage that are there now, and the nodes that
// turned it down meanwhile.
type audition struct {
	state    fwk.CycleState
	narrowed *fwk.PreFilterResult
	rejected *fwk.Status
	refused  map[string]string
}

// act puts the planned pods on their nodes, in the order in which the queue has them. Those turned away try again after others
// have entered. When nobody can go where planned, one moves.
func (r *rehearsal) act(ctx context.Context, plan map[string]string) (*performance, error) {
	acted := &performance{nodes: make(map[string]string, len(plan))}
	for _, pod := range r.question.Gang.Pending {
		if plan[pod.Name] != "" {
			acted.waiting = append(acted.waiting, pod)
		}
	}
	slices.SortFunc(acted.waiting, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for len(acted.waiting) > 0 {
		entered, err := r.enterAsPlanned(ctx, acted, plan)
		if err == nil && !entered {
			entered, err = r.moveOne(ctx, acted, plan)
		}
		if err != nil {
			return nil, err
		}
		if !entered {
			return acted, nil
		}
	}
	acted.refused = nil
	return acted, nil
}

// enterAsPlanned lets everybody try who waits, and reports whether anybody entered.
func (r *rehearsal) enterAsPlanned(ctx context.Context, acted *performance, plan map[string]string) (bool, error) {
	var rest []*corev1.Pod
	acted.refused = nil
	for _, pod := range acted.waiting {
		why, err := r.enter(ctx, pod, plan[pod.Name])
		switch {
		case err != nil:
			return false, err
		case why == "":
			acted.entered(pod, plan[pod.Name])
		default:
			rest = append(rest, pod)
			if acted.refused == nil {
				acted.refused = &refusal{pod: pod, node: r.stage.Node(plan[pod.Name]), why: why}
			}
		}
	}
	entered := len(rest) < len(acted.waiting)
	acted.waiting = rest
	return entered, nil
}

// moveOne finds another node for one of those who wait.
func (r *rehearsal) moveOne(ctx context.Context, acted *performance, plan map[string]string) (bool, error) {
	tried := map[string]bool{}
	for i, pod := range acted.waiting {
		// Alike pods that were planned for one domain have the same nodes to choose from.
		choice := r.kinds[pod.Name] + r.domainOf(pod, plan[pod.Name])
		if tried[choice] {
			continue
		}
		tried[choice] = true
		for _, node := range r.alternatives(pod, plan[pod.Name]) {
			if fits, err := r.fitsBeside(pod, node, acted, plan); err != nil || !fits {
				if err != nil {
					return false, err
				}
				continue
			}
			why, err := r.enter(ctx, pod, node.Node().Name)
			if err != nil {
				return false, err
			}
			if why == "" {
				acted.waiting = slices.Delete(slices.Clone(acted.waiting), i, i+1)
				acted.entered(pod, node.Node().Name)
				return true, nil
			}
		}
	}
	return false, nil
}

func (p *performance) entered(pod *corev1.Pod, node string) {
	p.nodes[pod.Name] = node
	p.order = append(p.order, pod.Name)
}

// fitsBeside reports whether a node would still have room for pods of other kinds that are planned for it. Those of the same
// kind would be turned away there themselves by now.
func (r *rehearsal) fitsBeside(pod *corev1.Pod, node fwk.NodeInfo, acted *performance, plan map[string]string) (bool, error) {
	var others []*corev1.Pod
	for _, waiting := range acted.waiting {
		if plan[waiting.Name] == node.Node().Name && r.kinds[waiting.Name] != r.kinds[pod.Name] {
			others = append(others, waiting)
		}
	}
	return kubeframework.FitsBeside(pod, node, others)
}

// enter puts a pod on a node if all filters accept it there, and says which does not.
func (r *rehearsal) enter(ctx context.Context, pod *corev1.Pod, name string) (why string, err error) {
	node := r.stage.Node(name)
	if node == nil {
		return "", fmt.Errorf("node %s is not in the snapshot", name)
	}
	known, err := r.audition(ctx, pod)
	if err != nil {
		return "", err
	}
	if why, refused := known.refused[name]; refused {
		return why, nil
	}
	status := known.rejected
	if status.IsSuccess() && !known.narrowed.AllNodes() && !known.narrowed.NodeNames.Has(name) {
		known.refused[name] = kubeframework.NotSelected
		return kubeframework.NotSelected, nil
	}
	if status.IsSuccess() {
		status = r.stage.RunFilterPlugins(ctx, known.state, pod, node)
	}
	if status.IsSuccess() {
		if status = r.stage.Put(ctx, known.state, on(name, pod)); status.IsSuccess() {
			clear(r.auditions)
			return "", nil
		}
	}
	if !status.IsRejected() {
		return "", fmt.Errorf("rehearsing pod %s on node %s: %w", pod.Name, name, status.AsError())
	}
	known.refused[name] = kubeframework.Objection(status, pod, node.Node())
	return known.refused[name], nil
}

func (r *rehearsal) audition(ctx context.Context, pod *corev1.Pod) (*audition, error) {
	kind := r.kinds[pod.Name]
	if kubeframework.Claims(pod) {
		// What is set aside for a pod is noted in its own state.
		kind += " of pod " + pod.Name
	}
	if known := r.auditions[kind]; known != nil {
		return known, nil
	}
	prepared := &audition{state: kubeframework.Rehearsal(), refused: map[string]string{}}
	narrowed, status, _ := r.stage.RunPreFilterPlugins(ctx, prepared.state, pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return nil, fmt.Errorf("rehearsing pod %s: %w", pod.Name, status.AsError())
	}
	prepared.narrowed, prepared.rejected = narrowed, status
	r.auditions[kind] = prepared
	return prepared, nil
}
