package solve

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// prefiltered is what the filters prepared for one kind of pod, in step with the assumed pods.
type prefiltered struct {
	pod      *corev1.Pod
	state    fwk.CycleState
	narrowed *fwk.PreFilterResult
	rejected *fwk.Status
	spread   *kubeframework.Spread
	// lasting are objections that no further assumed pod ends, and passing the objections that one may end.
	lasting, passing refusals
}

// refusals are objections met so far, by node.
type refusals map[string]string

func (r *refusals) note(node, why string) {
	if *r == nil {
		*r = refusals{}
	}
	(*r)[node] = why
}

func (p *prefiltered) remembers(node *corev1.Node) (why string, refused bool) {
	if why, refused = p.lasting[node.Name]; !refused {
		why, refused = p.passing[node.Name]
	}
	return why, refused
}

func (p *prefiltered) remember(status *fwk.Status, node *corev1.Node) (why string) {
	why = kubeframework.Objection(status, p.pod, node)
	if kubeframework.Liftable(status) {
		p.passing.note(node.Name, why)
	} else {
		p.lasting.note(node.Name, why)
	}
	return why
}

// prefilter returns what the filters have prepared for a pod.
func (r *replay) prefilter(ctx context.Context, pod *corev1.Pod) (*prefiltered, error) {
	kind := r.kinds[pod.Name]
	if r.claims(pod) {
		// What is set aside for a pod is noted in its own state.
		kind += " of pod " + pod.Name
	}
	if known := r.prefiltered[kind]; known != nil {
		return known, nil
	}
	prepared := &prefiltered{pod: pod, state: kubeframework.Simulation()}
	narrowed, status, _ := r.assumed.RunPreFilterPlugins(ctx, prepared.state, pod)
	if !status.IsSuccess() && !status.IsRejected() {
		return nil, fmt.Errorf("replaying pod %s: %w", pod.Name, status.AsError())
	}
	prepared.narrowed, prepared.rejected = narrowed, status
	var err error
	if prepared.spread, err = kubeframework.NewSpread(pod, r.assumed.Nodes(r.request.Nodes)); err != nil {
		return nil, err
	}
	r.prefiltered[kind] = prepared
	return prepared, nil
}

// follow brings what is prepared in step with a pod that has entered, or forgets it where that cannot be done.
func (r *replay) follow(ctx context.Context, entered *corev1.Pod, node *corev1.Node) error {
	claims := r.claims(entered)
	for kind, known := range r.prefiltered {
		if !known.rejected.IsSuccess() || claims && r.claims(known.pod) {
			r.opened = true
			delete(r.prefiltered, kind)
			continue
		}
		follows, err := r.assumed.AddLast(ctx, known.state, known.pod)
		if err != nil {
			return fmt.Errorf("replaying pod %s: %w", known.pod.Name, err)
		}
		if !follows {
			r.opened = true
			delete(r.prefiltered, kind)
			continue
		}
		if known.spread == nil || known.spread.Put(entered, node) || len(kubeframework.RequiredAffinity(known.pod)) > 0 {
			r.opened = r.opened || len(known.passing) > 0
			known.passing = nil
		}
	}
	return nil
}

func (r *replay) claims(pod *corev1.Pod) bool { return r.request.View.Resources().Claims(pod) }

// assume puts a pod on a node if all filters accept it there, and says which does not.
func (r *replay) assume(ctx context.Context, pod *corev1.Pod, name string) (why string, err error) {
	node := r.assumed.Node(name)
	if node == nil {
		return "", fmt.Errorf("node %s is not in the snapshot", name)
	}
	known, err := r.prefilter(ctx, pod)
	if err != nil {
		return "", err
	}
	if why, refused := known.remembers(node.Node()); refused {
		return why, nil
	}
	status := known.rejected
	if status.IsSuccess() && !known.narrowed.AllNodes() && !known.narrowed.NodeNames.Has(name) {
		known.lasting.note(name, kubeframework.NotSelected)
		return kubeframework.NotSelected, nil
	}
	if status.IsSuccess() && known.spread != nil && !known.spread.Allows(node.Node()) {
		status = kubeframework.Unspread()
	}
	if status.IsSuccess() {
		status = r.assumed.RunFilterPlugins(ctx, known.state, pod, node)
	}
	if status.IsSuccess() {
		if status = r.assumed.Assume(ctx, known.state, gang.On(name, pod)); status.IsSuccess() {
			return "", r.follow(ctx, pod, node.Node())
		}
	}
	if !status.IsRejected() {
		return "", fmt.Errorf("replaying pod %s on node %s: %w", pod.Name, name, status.AsError())
	}
	return known.remember(status, node.Node()), nil
}
