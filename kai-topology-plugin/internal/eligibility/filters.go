package eligibility

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// rehearsal is the filters of a profile made ready for one pod.
type rehearsal struct {
	filters  kubeframework.Filters
	pod      *corev1.Pod
	state    fwk.CycleState
	narrowed *fwk.PreFilterResult
	// rejected is set if the pod is turned down wherever it goes.
	rejected *fwk.Status
}

func rehearse(ctx context.Context, filters kubeframework.Filters, pod *corev1.Pod) (*rehearsal, error) {
	r := &rehearsal{filters: filters, pod: pod, state: kubeframework.Rehearsal()}
	narrowed, status, _ := filters.RunPreFilterPlugins(ctx, r.state, pod)
	switch {
	case status.IsSuccess():
		r.narrowed = narrowed
	case status.IsRejected():
		r.rejected = status
	default:
		return nil, status.AsError()
	}
	kubeframework.IgnoreRoom(r.state)
	return r, nil
}

// lasting reports whether answers hold as long as the Node objects stay as they are: all other filters said that they have
// nothing to say about this pod.
func (r *rehearsal) lasting(changeable []string) bool {
	return r.rejected == nil && r.state.GetSkipFilterPlugins().HasAll(changeable...)
}

// excluded says why a node is excluded, "" if it is not.
func (r *rehearsal) excluded(ctx context.Context, node fwk.NodeInfo) (string, error) {
	if r.rejected != nil {
		return kubeframework.Objection(r.rejected, r.pod, node.Node()), nil
	}
	if !r.narrowed.AllNodes() && !r.narrowed.NodeNames.Has(node.Node().Name) {
		return kubeframework.NotSelected, nil
	}
	status := r.filters.RunFilterPlugins(ctx, r.state, r.pod, node)
	switch {
	case status.IsSuccess():
		return "", nil
	case status.IsRejected():
		return kubeframework.Objection(status, r.pod, node.Node()), nil
	default:
		return "", fmt.Errorf("running the filters for pod %s on node %s: %w", r.pod.Name, node.Node().Name, status.AsError())
	}
}
