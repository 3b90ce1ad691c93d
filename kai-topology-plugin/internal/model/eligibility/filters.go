package eligibility

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
)

// filtered is the filters of a profile made ready for one pod, with what they said about nodes so far. Nodes that a
// filter cannot tell apart share a verdict.
type filtered struct {
	filters  kubeframework.Filters
	pod      *corev1.Pod
	state    fwk.CycleState
	narrowed *fwk.PreFilterResult
	// rejected is set if the pod is turned down wherever it goes.
	rejected *fwk.Status
	affinity nodeaffinity.RequiredNodeAffinity
	// selecting is set if the profile has selectors besides the pod's.
	selecting bool
	// byTaints has verdicts by taints and cordon; byLabels by the values of the labels that the other filters read,
	// which they do if sorting is set.
	byTaints, byLabels map[string]string
	labels             []string
	sorting            bool
	// lasting is set if the verdicts hold as long as the Node objects stay as they are.
	lasting bool
}

// prefilter runs the PreFilter plugins.
func (m *Memory) prefilter(ctx context.Context, pod *corev1.Pod, nodes Nodes) (*filtered, error) {
	f := &filtered{
		filters: m.filters, pod: pod, state: kubeframework.Simulation(),
		affinity:  nodeaffinity.GetRequiredNodeAffinity(pod),
		selecting: *m.selects, byTaints: map[string]string{}, byLabels: map[string]string{},
	}
	narrowed, status, _ := m.filters.RunPreFilterPlugins(ctx, f.state, pod)
	switch {
	case status.IsSuccess():
		f.narrowed = narrowed
	case status.IsRejected():
		f.rejected = status
		return f, nil
	default:
		return nil, status.AsError()
	}
	f.lasting = f.state.GetSkipFilterPlugins().HasAll(m.changeable()...)
	switch {
	case f.selecting:
		kubeframework.IgnoreRoom(f.state)
	case !f.lasting:
		kubeframework.IgnoreRoomAndNodes(f.state)
		f.labels, f.sorting = kubeframework.ReadLabels(m.filters, f.state, pod, nodes.Repelling().Topologies)
	}
	return f, nil
}

// excluded says why a node is excluded, "" if it is not.
func (f *filtered) excluded(ctx context.Context, node Node) (string, error) {
	if f.rejected != nil {
		return kubeframework.Objection(f.rejected, f.pod, node.Info.Node()), nil
	}
	if !f.narrowed.AllNodes() && !f.narrowed.NodeNames.Has(node.Info.Node().Name) {
		return kubeframework.NotSelected, nil
	}
	if !f.selecting {
		// In kube-scheduler's order: what is wrong with the node is said before what the pod selects.
		why, err := f.once(f.byTaints, node.Taints, func() *fwk.Status {
			return kubeframework.ByTaints(ctx, f.filters, f.state, f.pod, node.Info)
		}, node)
		if why != "" || err != nil {
			return why, err
		}
		// A selector that is wrong matches nothing, as for the filter.
		if matches, _ := f.affinity.Match(node.Info.Node()); !matches {
			return kubeframework.NotSelected, nil
		}
		if f.lasting {
			return "", nil
		}
	}
	run := func() *fwk.Status { return f.filters.RunFilterPlugins(ctx, f.state, f.pod, node.Info) }
	if f.sorting {
		return f.once(f.byLabels, nodes.Values(node.Info.Node(), f.labels), run, node)
	}
	return f.objection(run(), node)
}

// once runs filters for the first node of a class.
func (f *filtered) once(known map[string]string, class string, run func() *fwk.Status, node Node) (string, error) {
	if why, ok := known[class]; ok {
		return why, nil
	}
	why, err := f.objection(run(), node)
	if err == nil {
		known[class] = why
	}
	return why, err
}

func (f *filtered) objection(status *fwk.Status, node Node) (string, error) {
	switch {
	case status.IsSuccess():
		return "", nil
	case status.IsRejected():
		return kubeframework.Objection(status, f.pod, node.Info.Node()), nil
	default:
		return "", fmt.Errorf("running the filters for pod %s on node %s: %w", f.pod.Name, node.Info.Node().Name,
			status.AsError())
	}
}

// Repelling is how pods on the nodes keep others away: by Labels of these, from domains of Topologies.
type Repelling struct {
	Labels, Topologies sets.Set[string]
}
