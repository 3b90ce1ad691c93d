package replacement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/turns"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/successors"
)

// replaced is a gang of which pods have left, with their successors to be placed.
type replaced struct {
	turn       turns.Turn
	leaving    []*corev1.Pod
	successors []*corev1.Pod
	// added is set if the successors come beside the pods that there are.
	added bool
}

// read returns the gangs that a question is about, or why it cannot be answered: first those whose pods come beside the
// others, then those of which pods leave, each in the order in which the scheduler would decide them.
func (s *scene) read(asked Asked) (all []replaced, unknown string) {
	byGang := map[string][]successors.Group{}
	for _, group := range asked.Question.Groups {
		byGang[group.PodGroup] = append(byGang[group.PodGroup], group)
	}
	for _, name := range slices.Sorted(maps.Keys(byGang)) {
		key := gang.Key{Namespace: asked.Gang.Namespace, Name: name}
		podGroup := s.podGroups[key]
		if podGroup == nil {
			return nil, fmt.Sprintf("there is no PodGroup %s", key)
		}
		all = append(all, s.replace(podGroup, byGang[name], s.priority(key.Namespace, byGang)))
	}
	slices.SortFunc(all, func(a, b replaced) int {
		switch {
		case a.added && !b.added:
			return -1
		case b.added && !a.added:
			return 1
		}
		return a.turn.Rank.Compare(b.turn.Rank)
	})
	return all, ""
}

// priority is that of the pods of some gangs. A gang that has no pods yet is as the others that a question is about.
func (s *scene) priority(namespace string, gangs map[string][]successors.Group) int32 {
	var present []*corev1.Pod
	for name := range gangs {
		present = append(present, gang.Released(s.members[gang.Key{Namespace: namespace, Name: name}])...)
	}
	return (&gang.Gang{Standing: present}).Priority()
}

// replace has pods of a gang leave, and their successors wait. Of pods that have left already some successors may be
// there. A gang without pods has the priority that is given.
func (s *scene) replace(podGroup *scheduling.PodGroup, groups []successors.Group, otherwise int32) replaced {
	key := gang.KeyOfPodGroup(podGroup)
	var made replaced
	present := gang.Released(s.members[key])
	priority := &otherwise
	if len(present) > 0 {
		priority = ptr.To((&gang.Gang{Standing: present}).Priority())
	}
	tree, _ := gang.Read(podGroup, s.cluster.Levels)
	expected, _ := podgrouptree.ParseExpected(podGroup.Annotations)
	for _, group := range groups {
		leaf := leafOf(tree, group.SubGroup)
		leaves := func(pod *corev1.Pod) bool { return slices.Contains(group.Pods, pod.Name) }
		stood := 0
		for _, pod := range present {
			if leaves(pod) {
				made.leaving = append(made.leaving, pod)
				if gang.Standing(pod) {
					stood++
				}
			}
		}
		present = slices.DeleteFunc(present, leaves)
		names := slices.Clone(group.Pods)
		for i := range group.Added {
			made.added = true
			names = append(names, fmt.Sprintf("%s-%s-added-%d", podGroup.Name, leaf, i))
		}
		missing := len(names)
		if want, known := expectedOf(tree, expected, leaf); known && stood < missing {
			missing = min(missing, max(0, want-count(present, leaf)))
		}
		for _, name := range names[:missing] {
			made.successors = append(made.successors, successorOf(podGroup, leaf, name, group.Template, priority))
		}
	}
	assembled, hold := gang.Assemble(podGroup, append(present, made.successors...), s.cluster.Levels)
	made.turn = turns.Turn{Gang: assembled, Hold: hold, Rank: assembled.Rank()}
	return made
}

// leafOf returns the leaf that a question means: the root of a PodGroup that has no such leaf.
func leafOf(tree *podgrouptree.Tree, name string) string {
	if tree == nil || tree.Leaf(name) != nil {
		return name
	}
	return scheduling.RootGroup
}

// expectedOf returns how many pods a leaf is to have.
func expectedOf(tree *podgrouptree.Tree, expected podgrouptree.Expected, leaf string) (pods int, known bool) {
	if said, ok := expected[leaf]; ok {
		return int(said), true
	}
	if tree == nil || tree.Leaf(leaf) == nil {
		return 0, false
	}
	return int(tree.Leaf(leaf).MinMember), true
}

// count returns how many pods of a leaf there are and will be.
func count(pods []*corev1.Pod, leaf string) (there int) {
	for _, pod := range pods {
		if gang.LeafOf(pod) == leaf && (gang.Standing(pod) || gang.Pending(pod)) {
			there++
		}
	}
	return there
}

// successorOf is the pod that somebody will create when one is gone.
func successorOf(
	podGroup *scheduling.PodGroup, leaf, of string, template corev1.PodTemplateSpec, priority *int32,
) *corev1.Pod {
	name := of + "-successor"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: podGroup.Namespace, Name: name,
			UID:         types.UID(strings.Join([]string{podGroup.Namespace, name}, "/")),
			Labels:      map[string]string{},
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: podGroup.Name},
		},
		Spec: template.Spec,
	}
	maps.Copy(pod.Labels, template.Labels)
	if leaf != scheduling.RootGroup {
		pod.Labels[kai.LabelSubGroupName] = leaf
	}
	if topology := podGroup.Annotations[scheduling.AnnotationPodsTopology]; topology != "" {
		pod.Annotations[grove.AnnotationTopologyName] = topology
	}
	pod.Spec.Priority = priority
	pod.Status.Phase = corev1.PodPending
	return pod
}
