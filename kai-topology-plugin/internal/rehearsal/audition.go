package rehearsal

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// audition is what the filters prepared for one kind of pod, with those on the stage that are there now.
type audition struct {
	state    fwk.CycleState
	narrowed *fwk.PreFilterResult
	rejected *fwk.Status
	// refused has the objections met since then: of single nodes by name, and of all that are alike in what decided.
	refused map[string]string
	alike   []refusedAlike
}

type refusedAlike struct {
	keys []string
	why  map[string]string
}

func (a *audition) remembers(node *corev1.Node) (why string, refused bool) {
	if why, refused := a.refused[node.Name]; refused {
		return why, true
	}
	for _, known := range a.alike {
		if why, refused := known.why[alike(node, known.keys)]; refused {
			return why, true
		}
	}
	return "", false
}

func (a *audition) remember(status *fwk.Status, pod *corev1.Pod, node *corev1.Node) (why string) {
	why = kubeframework.Objection(status, pod, node)
	keys, ok := kubeframework.DecidingLabels(status, pod)
	if !ok {
		a.refused[node.Name] = why
		return why
	}
	at := slices.IndexFunc(a.alike, func(known refusedAlike) bool { return slices.Equal(known.keys, keys) })
	if at < 0 {
		at = len(a.alike)
		a.alike = append(a.alike, refusedAlike{keys: keys, why: map[string]string{}})
	}
	a.alike[at].why[alike(node, keys)] = why
	return why
}

// audition returns what the filters have prepared for a pod.
func (r *rehearsal) audition(ctx context.Context, pod *corev1.Pod) (*audition, error) {
	kind := r.kinds[pod.Name]
	if r.question.View.Resources().Claims(pod) {
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
	if why, refused := known.remembers(node.Node()); refused {
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
	return known.remember(status, pod, node.Node()), nil
}
