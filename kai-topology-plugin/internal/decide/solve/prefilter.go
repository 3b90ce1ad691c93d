package solve

import (
	"context"
	"fmt"
	"slices"

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

// refusals are objections met so far: of single nodes by name, and of all that are alike in what decided.
type refusals struct {
	refused map[string]string
	alike   []refusedAlike
}

type refusedAlike struct {
	keys []string
	why  map[string]string
}

func (r *refusals) empty() bool { return len(r.refused) == 0 && len(r.alike) == 0 }

func (r *refusals) remembers(node *corev1.Node) (why string, refused bool) {
	if why, refused := r.refused[node.Name]; refused {
		return why, true
	}
	for _, known := range r.alike {
		if why, refused := known.why[alike(node, known.keys)]; refused {
			return why, true
		}
	}
	return "", false
}

func (r *refusals) remember(status *fwk.Status, pod *corev1.Pod, node *corev1.Node, why string) {
	keys, ok := kubeframework.DecidingLabels(status, pod)
	if !ok {
		r.note(node.Name, why)
		return
	}
	at := slices.IndexFunc(r.alike, func(known refusedAlike) bool { return slices.Equal(known.keys, keys) })
	if at < 0 {
		at = len(r.alike)
		r.alike = append(r.alike, refusedAlike{keys: keys, why: map[string]string{}})
	}
	r.alike[at].why[alike(node, keys)] = why
}

func (r *refusals) note(node, why string) {
	if r.refused == nil {
		r.refused = map[string]string{}
	}
	r.refused[node] = why
}

func (p *prefiltered) remembers(node *corev1.Node) (why string, refused bool) {
	if why, refused := p.lasting.remembers(node); refused {
		return why, true
	}
	return p.passing.remembers(node)
}

func (p *prefiltered) remember(status *fwk.Status, node *corev1.Node) (why string) {
	why = kubeframework.Objection(status, p.pod, node)
	if kubeframework.Liftable(status) {
		p.passing.remember(status, p.pod, node, why)
	} else {
		p.lasting.remember(status, p.pod, node, why)
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
		if known.spread == nil || known.spread.Put(entered, node) || len(requiredAffinity(known.pod)) > 0 {
			r.opened = r.opened || !known.passing.empty()
			known.passing = refusals{}
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
