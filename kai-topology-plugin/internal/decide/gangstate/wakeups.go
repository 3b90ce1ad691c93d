package gangstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// asks is View.Asks.
func (r *record) asks(waiting types.UID) bool {
	asker := r.asker()
	return asker == nil || asker.UID == waiting
}

// NodeHelps reports whether a node may take a pod that waits, now that it came or changed, which it did not take
// before; or others may, now that it is gone. Before is nil for a node that is new, after for one that is gone, and
// both are if nobody knows.
func (s *State) NodeHelps(key gang.Key, waiting *corev1.Pod, before, after *corev1.Node) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	switch {
	case !r.asks(waiting.UID):
		return false
	case after == nil:
		// Pods may be level then that were not before.
		return before == nil || r.last == nil || !r.last.given.Basis.Lasts()
	case kubeframework.Cordoned(after, waiting):
		return false
	case before == nil || before.Spec.Unschedulable && !after.Spec.Unschedulable:
		return true
	}
	reads := func(label string) bool { return r.last == nil || r.last.given.Basis.Reads(label) }
	return grew(before.Status.Allocatable, after.Status.Allocatable) || lostTaint(before, after) ||
		differs(before.Labels, after.Labels, reads) || differs(after.Labels, before.Labels, reads)
}

// PodHelps reports whether a pod that is deleted, or asks for less, may have made room for one that waits. Without a
// node, and promised none, it had taken nothing. Free returns what a node has by now, nil if that is not known.
func (s *State) PodHelps(key gang.Key, waiting, changed *corev1.Pod, free func(node string) packing.Resources) bool {
	if changed == nil || changed.UID == waiting.UID {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, node := s.known(key), changed.Spec.NodeName
	switch {
	case !r.asks(waiting.UID):
		return false
	case node == "":
		return changed.Status.NominatedNodeName != ""
	case r.asker() == nil:
		return true
	}
	of, member := gang.KeyOf(changed)
	onNode := func(v *reservation) bool { return v.on(node) }
	if member && (of == key || s.known(of).hasOptional()) || r.preempting != nil || slices.ContainsFunc(r.kept, onNode) {
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
