package planner

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Index finds PodGroups that are related to others.
type Index struct {
	// byBase has those that share a constraint, by their base gang, and counted those that a key of relations has in
	// common.
	byBase, counted map[gang.Key][]*scheduling.PodGroup
}

// NewIndex returns an index of PodGroups.
func NewIndex(podGroups ...*scheduling.PodGroup) Index {
	index := Index{map[gang.Key][]*scheduling.PodGroup{}, map[gang.Key][]*scheduling.PodGroup{}}
	for _, podGroup := range podGroups {
		index.Add(podGroup)
	}
	return index
}

// Add adds a PodGroup.
func (i Index) Add(podGroup *scheduling.PodGroup) {
	if base, ok := gang.BaseOf(podGroup); ok {
		i.byBase[base] = append(i.byBase[base], podGroup)
	}
	for _, key := range gang.RelationKeys(podGroup) {
		i.counted[key] = append(i.counted[key], podGroup)
	}
}

// Remove removes a PodGroup that was added.
func (i Index) Remove(podGroup *scheduling.PodGroup) {
	drop := func(index map[gang.Key][]*scheduling.PodGroup, key gang.Key) {
		index[key] = slices.DeleteFunc(index[key], func(other *scheduling.PodGroup) bool { return other == podGroup })
		if len(index[key]) == 0 {
			delete(index, key)
		}
	}
	if base, ok := gang.BaseOf(podGroup); ok {
		drop(i.byBase, base)
	}
	for _, key := range gang.RelationKeys(podGroup) {
		drop(i.counted, key)
	}
}

// Sharing returns the gangs that share a constraint with one.
func (i Index) Sharing(podGroup *scheduling.PodGroup, pods func(gang.Key) []*corev1.Pod) (sharing []Member) {
	base, _ := gang.BaseOf(podGroup)
	for _, other := range i.byBase[base] {
		if other.Name != podGroup.Name {
			sharing = append(sharing, Member{PodGroup: other, Nodes: gang.NodesOf(pods(gang.KeyOfPodGroup(other)))})
		}
	}
	return sharing
}

// Counted yields the gangs that a key of relations has in common, with those of their pods that stand.
func (i Index) Counted(
	key gang.Key, pods func(gang.Key) []*corev1.Pod,
) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
	return func(yield func(*scheduling.PodGroup, []*corev1.Pod) bool) {
		for _, other := range i.counted[key] {
			if !yield(other, gang.StandingOf(pods(gang.KeyOfPodGroup(other)))) {
				return
			}
		}
	}
}
