package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// TestAReplicaIsLookedAtUntilAllPodsWereSeen: the controller of a PodClique may count one new pod while an old one,
// which was made just before the edit, is not in its cache yet. An update that ended with that count would leave the
// old pod there.
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
		assert.Equal(t, step.want, outdated(step.seen...), "step %d: outdated", i)
	}
}

// TestPodsThatAQuotaRefusesAreNotWaitedFor: otherwise an update that leaves deletions to the user would never end.
func TestPodsThatAQuotaRefusesAreNotWaitedFor(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 1
  template: {cliques: [{name: a, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}]}
`)
	member := layout.Standalone(set, 0)[0]
	podClique := children.PodClique(set, member, nil)
	maker := pods.Maker{Set: set, Member: member, PodClique: podClique}
	made, old := maker.Make("p0", 0), maker.Make("p0", 0)
	old.Labels[grovev1alpha1.LabelPodTemplateHash] = "old"
	for _, c := range []struct {
		pod  *corev1.Pod
		errs []grovev1alpha1.LastError
		want bool
	}{
		{old, []grovev1alpha1.LastError{{Description: "exceeded quota"}}, true}, {made, nil, true},
		{made, []grovev1alpha1.LastError{{Description: "exceeded quota"}}, false},
	} {
		podClique.Status = status.OfPodClique(podClique, []*corev1.Pod{c.pod}, "", status.Update{})
		podClique.Status.LastErrors = c.errs
		objects := rollout.Of(set, map[string]*grovev1alpha1.PodClique{podClique.Name: podClique}, nil)
		assert.Equal(t, c.want, objects.States()[0].Outdated, "with %v: outdated", c.errs)
	}
}

// TestWhyPodsHaveNoRoom: what a scheduler says of the gang, or else of the first pod.
func TestWhyPodsHaveNoRoom(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 1
  template: {cliques: [{name: a, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}]}
`)
	member := layout.Standalone(set, 0)[0]
	podClique := children.PodClique(set, member, nil)
	podClique.UID = "a"
	maker := pods.Maker{Set: set, Member: member, PodClique: podClique}
	waits, refused := maker.Make("p0", 0), maker.Make("p1", 1)
	refused.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available"}}
	for name, c := range map[string]struct {
		scheduled metav1.Condition
		pods      []*corev1.Pod
		want      string
	}{
		"the gang has no room": {
			scheduled: metav1.Condition{Type: "Scheduled", Status: metav1.ConditionFalse, Message: "no rack has room"},
			pods:      []*corev1.Pod{refused}, want: "PodGang s-0 waits: no rack has room",
		},
		"the gang has all that it needs, and a pod has no room": {
			scheduled: metav1.Condition{Type: "Scheduled", Status: metav1.ConditionTrue, Message: "x"},
			pods:      []*corev1.Pod{waits, refused}, want: "pod p1 waits: 0/3 nodes are available",
		},
		"no scheduler has looked": {
			scheduled: metav1.Condition{Type: "Scheduled", Status: metav1.ConditionUnknown, Message: "x"},
			pods:      []*corev1.Pod{waits},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := rollout.Of(set, map[string]*grovev1alpha1.PodClique{podClique.Name: podClique}, nil)
			gang := &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: "s-0"}}
			gang.Status.Conditions = []metav1.Condition{c.scheduled}
			objects.Gangs = map[string]*schedulerv1alpha1.PodGang{gang.Name: gang}
			objects.Pods = map[string][]*corev1.Pod{podClique.Name: c.pods}
			assert.Equal(t, c.want, objects.Replica(0).Cliques[0].Unscheduled)
		})
	}
}

// TestAReplicaIsOutdatedByItsPods: an old pod is updated even if its PodClique has not counted it yet.
func TestAReplicaIsOutdatedByItsPods(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 2
  template: {cliques: [{name: a, spec: {replicas: 2, podSpec: {containers: [{name: main, image: x}]}}}]}
`)
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"all have the template": {change: func(*corev1.Pod) {}},
		"one has another": {
			change: func(pod *corev1.Pod) { pod.Labels[grovev1alpha1.LabelPodTemplateHash] = "old" },
			want:   true,
		},
		"one that is being deleted has another": {change: func(pod *corev1.Pod) {
			pod.Labels[grovev1alpha1.LabelPodTemplateHash], pod.DeletionTimestamp = "old", &start
		}},
		"one of another owner has another": {change: func(pod *corev1.Pod) {
			pod.Labels[grovev1alpha1.LabelPodTemplateHash], pod.OwnerReferences = "old", nil
		}},
		"one of a replica that is gone has another": {change: func(pod *corev1.Pod) {
			pod.Labels[grovev1alpha1.LabelPodTemplateHash] = "old"
			pod.Labels[grovev1alpha1.LabelPodClique] = "s-2-a"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			podCliques, existing := map[string]*grovev1alpha1.PodClique{}, map[string][]*corev1.Pod{}
			for replica := range int32(2) {
				member := layout.Standalone(set, replica)[0]
				podClique := children.PodClique(set, member, nil)
				podClique.UID = types.UID(podClique.Name)
				maker := pods.Maker{Set: set, Member: member, PodClique: podClique}
				made := []*corev1.Pod{maker.Make("p0", 0), maker.Make("p1", 1)}
				podClique.Status = status.OfPodClique(podClique, made, "", status.Update{})
				podCliques[podClique.Name], existing[podClique.Name] = podClique, made
			}
			changed := existing["s-1-a"][1]
			c.change(changed)
			existing["s-1-a"] = existing["s-1-a"][:1]
			name := changed.Labels[grovev1alpha1.LabelPodClique]
			existing[name] = append(existing[name], changed)
			objects := rollout.Of(set, podCliques, nil)
			objects.Pods = existing
			for _, state := range objects.States() {
				assert.Equal(t, c.want && state.Replica == 1, state.Outdated, "replica %d: outdated", state.Replica)
			}
		})
	}
}

// TestPodsAreCounted: a pod with the set's current template counts while its PodClique is to have it.
func TestPodsAreCounted(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: 2
  template: {cliques: [{name: a, spec: {replicas: 3, podSpec: {containers: [{name: main, image: x}]}}}]}
`)
	for name, c := range map[string]struct {
		change func(*grovev1alpha1.PodClique, []*corev1.Pod)
		want   [2]int32
	}{
		"all": {func(*grovev1alpha1.PodClique, []*corev1.Pod) {}, [2]int32{6, 6}},
		"some": {func(_ *grovev1alpha1.PodClique, made []*corev1.Pod) {
			made[0].Labels[grovev1alpha1.LabelPodTemplateHash] = "old"
		}, [2]int32{5, 6}},
		"scaled": {func(p *grovev1alpha1.PodClique, _ []*corev1.Pod) { p.Spec.Replicas = 1 }, [2]int32{4, 4}},
		"of a PodClique that is going": {
			func(p *grovev1alpha1.PodClique, _ []*corev1.Pod) { p.DeletionTimestamp = &start }, [2]int32{3, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			podCliques, existing := map[string]*grovev1alpha1.PodClique{}, map[string][]*corev1.Pod{}
			for replica := range int32(2) {
				member := layout.Standalone(set, replica)[0]
				podClique := children.PodClique(set, member, nil)
				podClique.UID = types.UID(podClique.Name)
				maker := pods.Maker{Set: set, Member: member, PodClique: podClique}
				podCliques[podClique.Name] = podClique
				existing[podClique.Name] = []*corev1.Pod{maker.Make("p0", 0), maker.Make("p1", 1), maker.Make("p2", 2)}
			}
			c.change(podCliques["s-1-a"], existing["s-1-a"])
			objects := rollout.Of(set, podCliques, nil)
			objects.Pods = existing
			decision := rollout.Decide(objects.Situation(start.Time))
			assert.Equal(t, c.want, [2]int32{decision.Updated, decision.Pods})
		})
	}
}
