package solve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// outcome is how a plan went.
type outcome struct {
	// nodes has the node of each pod that found one, by name, and order the names as they were assumed.
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
	return fmt.Sprintf(
		"pod %s is turned away by %s, on node %s as on others of its domain", r.pod.Name, r.why, r.node.Node().Name)
}

// assumeAll puts the planned pods on their nodes, in the order of the queue. A rejected pod is tried again after others
// were assumed, as far as that may have opened a node. When no pod fits where planned, other nodes of the plan are
// tried.
func (r *replay) assumeAll(ctx context.Context, plan map[string]string) (*outcome, error) {
	result := &outcome{nodes: make(map[string]string, len(plan)), waiting: r.planned(plan)}
	r.opened = true
	for len(result.waiting) > 0 {
		entered, err := false, error(nil)
		if r.opened {
			entered, err = r.assumeAsPlanned(ctx, result, plan)
		}
		if err == nil && !entered {
			entered, err = r.move(ctx, result, plan)
		}
		if err == nil && !entered {
			// The last pass names the rejected pods.
			entered, err = r.assumeAsPlanned(ctx, result, plan)
		}
		if err != nil {
			return nil, err
		}
		if !entered {
			return result, nil
		}
	}
	result.refused = nil
	return result, nil
}

// planned are the pods that a plan has nodes for.
func (r *replay) planned(plan map[string]string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range r.request.Gang.Pending {
		if plan[pod.Name] != "" {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// assumeAsPlanned tries all waiting pods on their planned nodes, and reports whether one was assumed.
func (r *replay) assumeAsPlanned(ctx context.Context, result *outcome, plan map[string]string) (bool, error) {
	var rest []*corev1.Pod
	result.refused, r.opened = nil, false
	for _, pod := range result.waiting {
		why, err := r.assume(ctx, pod, plan[pod.Name])
		switch {
		case err != nil:
			return false, err
		case why == "":
			result.put(pod, plan[pod.Name])
		default:
			rest = append(rest, pod)
			if result.refused == nil {
				result.refused = &refusal{pod: pod, node: r.assumed.Node(plan[pod.Name]), why: why}
			}
		}
	}
	entered := len(rest) < len(result.waiting)
	result.waiting = rest
	return entered, nil
}

// move tries other nodes for the waiting pods until one is assumed that may open a node for others. It reports whether
// a pod was assumed.
func (r *replay) move(ctx context.Context, result *outcome, plan map[string]string) (bool, error) {
	expected := map[string][]*corev1.Pod{}
	for _, pod := range result.waiting {
		expected[plan[pod.Name]] = append(expected[plan[pod.Name]], pod)
	}
	// left are the nodes that alike pods of one planned node may still try.
	stuck, left := map[string]bool{}, map[string][]fwk.NodeInfo{}
	var rest []*corev1.Pod
	for _, pod := range result.waiting {
		planned := plan[pod.Name]
		// Alike pods that were planned for one domain have the same nodes to choose from.
		choice := r.kinds[pod.Name] + r.domainOf(pod, planned)
		from := gang.LeafOf(pod) + "\x00" + r.kinds[pod.Name] + "\x00" + planned
		if r.opened || r.spent() || stuck[choice] {
			rest = append(rest, pod)
			continue
		}
		if _, known := left[from]; !known {
			left[from] = r.alternatives(pod, planned)
		}
		node, others, err := r.assumeAny(ctx, pod, left[from], expected)
		if err != nil {
			return false, err
		}
		left[from] = others
		if node == "" {
			stuck[choice] = true
			rest = append(rest, pod)
			continue
		}
		expected[planned] = slices.DeleteFunc(expected[planned], func(other *corev1.Pod) bool { return other == pod })
		result.put(pod, node)
	}
	entered := len(rest) < len(result.waiting)
	result.waiting = rest
	return entered, nil
}

// assumeAny puts a pod on the first node that accepts it and has room for the pods expected there. It returns the node,
// "" if there is none, and the nodes that have not rejected the pod.
func (r *replay) assumeAny(
	ctx context.Context, pod *corev1.Pod, nodes []fwk.NodeInfo, expected map[string][]*corev1.Pod,
) (entered string, left []fwk.NodeInfo, err error) {
	known, err := r.prefilter(ctx, pod)
	if err != nil {
		return "", nil, err
	}
	for i, node := range nodes {
		name := node.Node().Name
		if r.spent() {
			return "", append(left, nodes[i:]...), nil
		}
		if _, refused := known.remembers(node.Node()); refused {
			continue
		}
		fits, err := r.fitsBeside(pod, node, expected[name])
		if err != nil {
			return "", nil, err
		}
		if !fits {
			left = append(left, node)
			continue
		}
		r.steps++
		why, err := r.assume(ctx, pod, name)
		if err != nil {
			return "", nil, err
		}
		if why == "" {
			return name, append(left, nodes[i:]...), nil
		}
	}
	return "", left, nil
}

func (o *outcome) put(pod *corev1.Pod, node string) {
	o.nodes[pod.Name] = node
	o.order = append(o.order, pod.Name)
}

// fitsBeside reports whether a node has room for the planned pods of other kinds beside this one. Pods of the same kind
// would be rejected there by now.
func (r *replay) fitsBeside(pod *corev1.Pod, node fwk.NodeInfo, expected []*corev1.Pod) (bool, error) {
	var others []*corev1.Pod
	for _, waiting := range expected {
		if r.kinds[waiting.Name] != r.kinds[pod.Name] {
			others = append(others, waiting)
		}
	}
	if len(others) == 0 {
		return true, nil // There is a filter for it.
	}
	return r.request.View.Resources().FitsBeside(pod, node, others)
}
