package gangstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Waiting is a pod that waits in the queue, which asks about it at every event: what was found of it once need not be
// looked for again. It is for one goroutine at a time.
type Waiting struct {
	// Gang has no name for a pod without one.
	Gang gang.Key
	Pod  *corev1.Pod

	state  *State
	record *record
	// asks is set if the pod asks for its gang according to this answer.
	last *answer
	asks bool
}

// Waiting returns a pod that waits.
func (s *State) Waiting(key gang.Key, pod *corev1.Pod) *Waiting {
	return &Waiting{Gang: key, Pod: pod, state: s}
}

// known returns the record of the gang as it is now, and brings asks in step with it.
func (w *Waiting) known() *record {
	if w.record == nil || w.record.forgotten {
		w.record, w.last, w.asks = w.state.gangs[w.Gang], nil, true
	}
	if w.record == nil {
		return &record{}
	}
	if w.last != w.record.last {
		w.last = w.record.last
		asker := w.record.asker()
		w.asks = asker == nil || asker.UID == w.Pod.UID
	}
	return w.record
}

// Asks reports whether the pod is to try again when something happens that could help: of a gang that has no place
// only the pod does which the last answer was found for. If there is a place now, the others are called; so that a
// gang of a thousand pods that waits is one pod that wakes up.
func (w *Waiting) Asks() bool {
	w.state.mu.RLock()
	defer w.state.mu.RUnlock()
	w.known()
	return w.asks
}

// LooksAtPods reports whether the gang may get another answer because of pods that come or change: the last one rests
// on more than nodes and what is used of them.
func (w *Waiting) LooksAtPods() bool {
	w.state.mu.RLock()
	defer w.state.mu.RUnlock()
	r := w.known()
	return r.last == nil || !r.last.given.Basis.Lasts()
}

// NodeHelps reports whether a node may take the pod, now that it came or changed, which it did not take before; or
// others may, now that it is gone. Before is nil for a node that is new, after for one that is gone, and both are if
// that is not known.
func (w *Waiting) NodeHelps(before, after *corev1.Node) bool {
	w.state.mu.RLock()
	defer w.state.mu.RUnlock()
	r := w.known()
	switch {
	case !w.asks:
		return false
	case after == nil:
		// Pods may be level then that were not before.
		return before == nil || r.last == nil || !r.last.given.Basis.Lasts()
	case kubeframework.Cordoned(after, w.Pod):
		return false
	case before == nil || before.Spec.Unschedulable && !after.Spec.Unschedulable:
		return true
	}
	reads := func(label string) bool { return r.last == nil || r.last.given.Basis.Reads(label) }
	return grew(before.Status.Allocatable, after.Status.Allocatable) || lostTaint(before, after) ||
		differs(before.Labels, after.Labels, reads) || differs(after.Labels, before.Labels, reads)
}

// PodHelps reports whether a pod that is deleted, or asks for less, may have made room for the one that waits. Without
// a node, and promised none, it had taken nothing. Free returns what a node has by now, nil if that is not known.
func (w *Waiting) PodHelps(changed *corev1.Pod, free func(node string) packing.Resources) bool {
	if changed == nil {
		return true
	}
	node := changed.Spec.NodeName
	w.state.mu.RLock()
	defer w.state.mu.RUnlock()
	r := w.known()
	switch {
	case node == "" && changed.UID == w.Pod.UID:
		return true
	case !w.asks:
		return false
	case node == "":
		return changed.Status.NominatedNodeName != ""
	case r.last == nil || r.preempting != nil || r.asker() == nil:
		return true
	}
	of, member := gang.KeyOf(changed)
	onNode := func(v *reservation) bool { return v.on(node) }
	if member && (of == w.Gang || w.state.known(of).hasOptional()) || slices.ContainsFunc(r.kept, onNode) {
		return true // More than a place for its pods may depend on it.
	}
	has := free(node)
	return has == nil || r.last.given.Helps(has)
}

// hasOptional reports whether the gang may have groups that it can do without. What stands of one that has lost a pod
// is of no use to the gang, and may leave for others.
func (r *record) hasOptional() bool {
	chooses := func(sub scheduling.SubGroup) bool { return sub.MinSubGroup != nil }
	return r.podGroup != nil &&
		(r.podGroup.Spec.MinSubGroup != nil || slices.ContainsFunc(r.podGroup.Spec.SubGroups, chooses))
}

func grew(before, after corev1.ResourceList) bool {
	for name, amount := range after {
		if had := before[name]; amount.Cmp(had) > 0 {
			return true
		}
	}
	return false
}

func lostTaint(before, after *corev1.Node) bool {
	return slices.ContainsFunc(before.Spec.Taints, func(taint corev1.Taint) bool {
		return !slices.ContainsFunc(after.Spec.Taints,
			func(other corev1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value })
	})
}

func differs(labels, others map[string]string, matters func(key string) bool) bool {
	for key, value := range labels {
		if other, ok := others[key]; (!ok || other != value) && matters(key) {
			return true
		}
	}
	return false
}
