package nativegroups

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Forest has all groups, by what is above and below them. The zero value is empty. It may be used by several at once.
type Forest struct {
	mu     sync.RWMutex
	groups map[Ref]*Group
	below  map[Ref]map[Ref]bool
}

// Set adds a group, or replaces it at once. Groups may come in any order.
func (f *Forest) Set(group *Group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(group.Ref())
	if f.groups == nil {
		f.groups, f.below = map[Ref]*Group{}, map[Ref]map[Ref]bool{}
	}
	f.groups[group.Ref()] = group
	if parent, has := group.parent(); has {
		if f.below[parent] == nil {
			f.below[parent] = map[Ref]bool{}
		}
		f.below[parent][group.Ref()] = true
	}
}

// Remove drops a group, if there is one.
func (f *Forest) Remove(ref Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(ref)
}

func (f *Forest) remove(ref Ref) {
	group := f.groups[ref]
	if group == nil {
		return
	}
	delete(f.groups, ref)
	if parent, has := group.parent(); has {
		delete(f.below[parent], ref)
		if len(f.below[parent]) == 0 {
			delete(f.below, parent)
		}
	}
}

// Roots returns the groups without a parent, in the order of their names.
func (f *Forest) Roots() (roots []Ref) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for ref, group := range f.groups {
		if _, has := group.parent(); !has {
			roots = append(roots, ref)
		}
	}
	return sorted(slices.Values(roots))
}

// Groups returns a group without a parent and all that are below it; nothing of groups that are above each other.
func (f *Forest) Groups(root Ref) (groups []*Group) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if group := f.groups[root]; group == nil || group.Spec.Parent != "" {
		return nil
	}
	next := []Ref{root}
	for i := 0; i < len(next); i++ {
		if group := f.groups[next[i]]; group != nil {
			groups = append(groups, group)
			next = append(next, sorted(maps.Keys(f.below[next[i]]))...)
		}
	}
	return groups
}

// deepest is more levels than Kubernetes allows.
const deepest = 16

// Root returns the outermost group above a group, or itself. It need not exist. Groups above each other have none, and
// then one of them is returned.
func (f *Forest) Root(ref Ref) Ref {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for range deepest {
		group := f.groups[ref]
		if group == nil {
			return ref
		}
		parent, has := group.parent()
		if !has {
			return ref
		}
		ref = parent
	}
	return ref
}

// Join returns a pod as a member of the gang of its native group: as if annotation and label named it. A pod without
// such a group is returned as it is. Nothing of the pod is changed.
func (f *Forest) Join(pod *corev1.Pod) *corev1.Pod {
	group := pod.Spec.SchedulingGroup
	if group == nil || group.PodGroupName == nil {
		return pod
	}
	leaf := Ref{PodGroup, pod.Namespace, *group.PodGroupName}
	root, joined := f.Root(leaf), *pod
	joined.Annotations, joined.Labels = with(pod.Annotations), with(pod.Labels)
	joined.Annotations[scheduling.AnnotationPodGroupName] = root.GangName()
	if delete(joined.Labels, kai.LabelSubGroupName); root != leaf {
		joined.Labels[kai.LabelSubGroupName] = leaf.SubGroup()
	}
	return &joined
}

// with returns a copy that more can be written into.
func with(some map[string]string) map[string]string {
	if some == nil {
		return map[string]string{}
	}
	return maps.Clone(some)
}

func sorted(refs func(func(Ref) bool)) []Ref {
	return slices.SortedFunc(refs, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
}
