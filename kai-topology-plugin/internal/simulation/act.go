package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
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

// act puts the planned pods on their nodes, in the order in which the queue has them. Those turned away try again after others
// have entered. When nobody can go where planned, one moves.
func (r *simulation) act(ctx context.Context, plan map[string]string) (*performance, error) {
	acted := &performance{nodes: make(map[string]string, len(plan)), waiting: r.planned(plan)}
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

// planned are the pods that a plan has nodes for.
func (r *simulation) planned(plan map[string]string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range r.question.Gang.Pending {
		if plan[pod.Name] != "" {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// enterAsPlanned lets everybody try who waits, and reports whether anybody entered.
func (r *simulation) enterAsPlanned(ctx context.Context, acted *performance, plan map[string]string) (bool, error) {
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
func (r *simulation) moveOne(ctx context.Context, acted *performance, plan map[string]string) (bool, error) {
	tried, expected := map[string]bool{}, map[string][]*corev1.Pod{}
	for _, pod := range acted.waiting {
		expected[plan[pod.Name]] = append(expected[plan[pod.Name]], pod)
	}
	for i, pod := range acted.waiting {
		// Alike pods that were planned for one domain have the same nodes to choose from.
		choice := r.kinds[pod.Name] + r.domainOf(pod, plan[pod.Name])
		if tried[choice] {
			continue
		}
		tried[choice] = true
		for _, node := range r.alternatives(pod, plan[pod.Name]) {
			if r.spent() {
				return false, nil
			}
			if known, err := r.audition(ctx, pod); err != nil {
				return false, err
			} else if _, refused := known.remembers(node.Node()); refused {
				continue
			}
			if fits, err := r.fitsBeside(pod, node, expected[node.Node().Name]); err != nil || !fits {
				if err != nil {
					return false, err
				}
				continue
			}
			r.steps++
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

// fitsBeside reports whether a node would still have room for the pods of other kinds among those that are planned for it.
// Those of the same kind would be turned away there themselves by now.
func (r *simulation) fitsBeside(pod *corev1.Pod, node fwk.NodeInfo, expected []*corev1.Pod) (bool, error) {
	var others []*corev1.Pod
	for _, waiting := range expected {
		if r.kinds[waiting.Name] != r.kinds[pod.Name] {
			others = append(others, waiting)
		}
	}
	if len(others) == 0 {
		return true, nil // There is a filter for it.
	}
	return r.question.View.Resources().FitsBeside(pod, node, others)
}
