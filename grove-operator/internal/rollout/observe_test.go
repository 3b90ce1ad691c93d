package rollout_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/fixture"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
)

// TestAReplicaIsLookedAtUntilAllPodsWereSeen: the controller of a PodClique may count one new pod while an old one, which was
// made just before the edit, has yet to come to its cache. An update that ended with that count would leave the old pod there.
func TestAReplicaIsLookedAtUntilAllPodsWereSeen(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 1
  template: {cliques: [{name: a, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}]}
`)
	member := layout.Standalone(set, 0)[0]
	podClique := children.PodClique(set, member, nil)
	maker := pods.Maker{Set: set, Member: member, PodClique: podClique}
	outdated := func(seen ...*corev1.Pod) bool {
		podClique.Status = status.OfPodClique(podClique, seen, "", status.Update{})
		objects := rollout.Of(set, map[string]*grovev1alpha1.PodClique{podClique.Name: podClique}, nil)
		return objects.States()[0].Outdated
	}
	first, second := maker.Make("p0", 0), maker.Make("p1", 1)
	old := second.DeepCopy()
	old.Labels[grovev1alpha1.LabelPodTemplateHash] = "old"
	for i, step := range []struct {
		seen []*corev1.Pod
		want bool
	}{
		{nil, true}, {[]*corev1.Pod{first}, true}, {[]*corev1.Pod{first, old}, true}, {[]*corev1.Pod{first}, true},
		{[]*corev1.Pod{first, second}, false}, {[]*corev1.Pod{first}, false}, {[]*corev1.Pod{first, old}, true},
	} {
		if got := outdated(step.seen...); got != step.want {
			t.Errorf("step %d: outdated: %v, want %v", i, got, step.want)
		}
	}
}
