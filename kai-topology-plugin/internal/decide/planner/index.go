package planner

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Index finds PodGroups that are related to others, by gang.IndexKeys.
type Index map[gang.Key][]*scheduling.PodGroup

// NewIndex returns an index of PodGroups.
func NewIndex(podGroups ...*scheduling.PodGroup) Index {
	index := Index{}
	for _, podGroup := range podGroups {
		index.Add(podGroup)
	}
	return index
}

// Add adds a PodGroup.
func (i Index) Add(podGroup *scheduling.PodGroup) {
	for _, key := range gang.IndexKeys(podGroup) {
		i[key] = append(i[key], podGroup)
	}
}

// Remove removes a PodGroup that was added.
func (i Index) Remove(podGroup *scheduling.PodGroup) {
	for _, key := range gang.IndexKeys(podGroup) {
		i[key] = slices.DeleteFunc(i[key], func(other *scheduling.PodGroup) bool { return other == podGroup })
		if len(i[key]) == 0 {
			delete(i, key)
		}
	}
}

// Related yields the gangs that have a key in common, with those of their pods that stand.
func (i Index) Related(
	key gang.Key, pods func(gang.Key) []*corev1.Pod,
) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
	return func(yield func(*scheduling.PodGroup, []*corev1.Pod) bool) {
		for _, other := range i[key] {
			if !yield(other, gang.StandingOf(pods(gang.KeyOfPodGroup(other)))) {
				return
			}
		}
	}
}
