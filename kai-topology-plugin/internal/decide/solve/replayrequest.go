package solve

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/packing"
)

// asked is what the engine is asked, with the nodes of excluded domains left out. What goes wrong meanwhile is in
// failed.
func (r *replay) asked(ctx context.Context, failed *error) Request {
	request := r.request
	request.Everywhere, request.Budget = r.apart.offered, max(1, r.budget-r.steps)
	request.reshape = func(pod *corev1.Pod, shape packing.Shape) packing.Shape {
		kind := shape.Key
		for _, key := range sets.List(r.rules.labels) {
			kind += fmt.Sprintf(" %q=%q", key, pod.Labels[key])
		}
		r.kinds[pod.Name] = kind
		shape.Requests = maps.Clone(shape.Requests)
		for _, resource := range slices.Sorted(maps.Keys(r.apart.asked[pod.Name])) {
			shape.Requests[resource] = r.apart.asked[pod.Name][resource]
			kind += fmt.Sprintf(" %d %s", r.apart.asked[pod.Name][resource], resource)
		}
		excluded := shape.Excluded
		shape.Key, shape.Filter = fmt.Sprintf("%s of leaf %q", kind, gang.LeafOf(pod)), ""
		if r.lenient {
			shape.Only = nil
		}
		shape.Excluded = func(name string) string {
			why, err := r.excluded(ctx, pod, name, excluded)
			if err != nil && *failed == nil {
				*failed = err
			}
			return why
		}
		return shape
	}
	return request
}

// ruledOut is why a node is excluded where an earlier plan failed.
const ruledOut = "rules among the gang's own pods"

func (r *replay) excluded(
	ctx context.Context, pod *corev1.Pod, name string, ordinary func(string) string,
) (string, error) {
	node := r.assumed.Node(name)
	if node == nil || r.isExcluded(pod, node.Node()) {
		return ruledOut, nil
	}
	why := ""
	if ordinary != nil {
		why = ordinary(name)
	}
	if why == "" || !r.lenient {
		return why, nil
	}
	known, err := r.prefilter(ctx, pod)
	if err != nil {
		return "", err
	}
	if !known.rejected.IsSuccess() || !known.narrowed.AllNodes() && !known.narrowed.NodeNames.Has(name) {
		return why, nil
	}
	status := kubeframework.FilterBut(ctx, r.assumed, known.state, pod, node, kubeframework.Liftable)
	switch {
	case status.IsSuccess():
		return "", nil
	case status.IsRejected():
		return kubeframework.Objection(status, pod, node.Node()), nil
	default:
		return "", fmt.Errorf("running the filters for pod %s on node %s: %w", pod.Name, name, status.AsError())
	}
}
