package children_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const podsGrouped = `
metadata: {name: s, namespace: n}
spec:
  replicas: 2
  template:
    cliques:
      - {name: router, labels: {packtree.dev/stands-for-copy: "true", packtree.dev/stands-for-replica: "true"}, spec: {replicas: 2}}
      - {name: worker, spec: {replicas: 2}}
      - {name: leader, spec: {replicas: 2}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [leader, worker], replicas: 2}]
`

// everyPod makes the pods of all replicas and copies, and lists each that stands for others.
func everyPod(set *grovev1alpha1.PodCliqueSet) []string {
	var all []string
	for replica := range set.Spec.Replicas {
		members := layout.Standalone(set, replica)
		for i := range set.Spec.Template.PodCliqueScalingGroups {
			group := &set.Spec.Template.PodCliqueScalingGroups[i]
			for copyIndex := range layout.GroupReplicas(group) {
				members = append(members, layout.Copy(set, replica, group, copyIndex)...)
			}
		}
		for _, member := range members {
			maker := pods.Maker{Set: set, Member: member, PodClique: children.PodClique(set, member, nil)}
			for index := range member.Clique.Spec.Replicas {
				pod := maker.Make(fmt.Sprintf("%s-%d", member.Name, index), index)
				if standing := standsFor(pod); standing != "" {
					all = append(all, pod.Name+standing)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// standsFor is " copy" and " replica", by the labels of a pod.
func standsFor(pod *corev1.Pod) string {
	var all string
	for _, what := range []string{"copy", "replica"} {
		if value, ok := pod.Labels["packtree.dev/stands-for-"+what]; ok {
			all += " " + what + strings.TrimPrefix(value, "true")
		}
	}
	return all
}

func TestOnePodStandsForEachCopyAndReplica(t *testing.T) {
	set := fixture.Set(t, podsGrouped)
	copies := []string{"s-0-g-0-leader-0 copy", "s-0-g-1-leader-0 copy", "s-1-g-0-leader-0 copy",
		"s-1-g-1-leader-0 copy"}
	want := append(slices.Clone(copies), "s-0-router-0 replica", "s-1-router-0 replica")
	slices.Sort(want)
	assert.Empty(t, cmp.Diff(want, everyPod(set)), "pods that stand for others (-want +got)")
	slices.Reverse(set.Spec.Template.Cliques)
	want = slices.Clone(copies)
	want[0], want[2] = "s-0-g-0-leader-0 copy replica", "s-1-g-0-leader-0 copy replica"
	assert.Empty(t, cmp.Diff(want, everyPod(set)),
		"pods that stand for others, with the first clique in a group (-want +got)")
}

// TestRelabelStanding: pods are written as their index, c if one stands for a copy and r if for a replica, - if it is
// being deleted, ! if it has ended.
func TestRelabelStanding(t *testing.T) {
	set := fixture.Set(t, podsGrouped)
	leader, worker := layout.Copy(set, 0, layout.Group(set, "g"), 0)[1],
		layout.Copy(set, 0, layout.Group(set, "g"), 0)[0]
	for name, c := range map[string]struct {
		member   layout.Member
		replicas int32
		pods     string
		want     []string
	}{
		"as they ought to be":                           {leader, 2, "0c 1", nil},
		"an older operator made them":                   {leader, 2, "0 1", []string{"0 +copy"}},
		"of a clique that is not the first":             {worker, 2, "0 1", nil},
		"of a clique that was the first before":         {worker, 2, "0cr 1", []string{"0 -copy -replica"}},
		"a user labelled another one too":               {leader, 2, "0c 1c", []string{"1 -copy"}},
		"0 is being replaced, and will be back":         {leader, 3, "0c- 1 2", nil},
		"0 has ended, and will be back":                 {leader, 3, "0c! 1 2", nil},
		"0 is gone for good":                            {leader, 2, "0c- 1 2", []string{"1 +copy"}},
		"0 comes back, and another stands in":           {leader, 3, "1c 2", []string{"1 -copy"}},
		"0 is back, and another still stands in":        {leader, 3, "0c 1c 2", []string{"1 -copy"}},
		"too many, so that it is not known which go":    {leader, 2, "0 1 2", nil},
		"none are left":                                 {leader, 0, "0c-", nil},
		"one that lacks an index, and will be replaced": {leader, 2, "0c 1 xc", nil},
	} {
		t.Run(name, func(t *testing.T) {
			podClique := children.PodClique(set, c.member, nil)
			podClique.Spec.Replicas = c.replicas
			var existing []*corev1.Pod
			for _, word := range strings.Fields(c.pods) {
				existing = append(existing, standingPod(word))
			}
			var got []string
			for _, change := range pods.RelabelStanding(set, c.member, podClique, existing) {
				words := change.Pod.Labels[grovev1alpha1.LabelPodIndex]
				for _, what := range []string{"copy", "replica"} {
					if value, ok := change.Labels["packtree.dev/stands-for-"+what]; ok {
						words += " " + map[bool]string{true: "-", false: "+"}[value == nil] + what
					}
				}
				got = append(got, words)
			}
			assert.Empty(t, cmp.Diff(c.want, got), "changes (-want +got)")
		})
	}
}

func standingPod(word string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: word,
		Labels: map[string]string{grovev1alpha1.LabelPodIndex: word[:1]}}}
	for _, mark := range word[1:] {
		switch mark {
		case 'c':
			pod.Labels[grovev1alpha1.LabelStandsForCopy] = grovev1alpha1.LabelStandsForValue
		case 'r':
			pod.Labels[grovev1alpha1.LabelStandsForReplica] = grovev1alpha1.LabelStandsForValue
		case '-':
			now := metav1.Now()
			pod.DeletionTimestamp = &now
		case '!':
			pod.Status.Phase = corev1.PodFailed
		}
	}
	return pod
}
