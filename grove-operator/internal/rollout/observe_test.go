package rollout_test

import (
	"fmt"
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

// observed are a set with a PodClique a for each replica, and the PodCliques' pods p0, p1 and so on.
func observed(t *testing.T, replicas, podsEach int32) rollout.Objects {
	t.Helper()
	set := fixture.Set(t, fmt.Sprintf(`
metadata: {name: s, namespace: n, uid: s}
spec:
  replicas: %d
  template: {cliques: [{name: a, spec: {replicas: %d, podSpec: {containers: [{name: main, image: x}]}}}]}
`, replicas, podsEach))
	podCliques, existing := map[string]*grovev1alpha1.PodClique{}, map[string][]*corev1.Pod{}
	for replica := range replicas {
		member := layout.Standalone(set, replica)[0]
		podClique := children.PodClique(set, member, nil)
		podClique.UID = types.UID(podClique.Name)
		maker := pods.Maker{Set: set, Member: member, PodClique: podClique}
		for index := range podsEach {
			existing[podClique.Name] = append(existing[podClique.Name], maker.Make(fmt.Sprint("p", index), index))
		}
		podClique.Status = status.OfPodClique(podClique, existing[podClique.Name], "", status.Update{})
		podCliques[podClique.Name] = podClique
	}
	objects := rollout.Of(set, podCliques, nil)
	objects.Pods = existing
	return objects
}

// TestAReplicaIsLookedAtUntilAllPodsWereSeen: the controller of a PodClique may count one new pod while an old one,
// which was made just before the edit, is not in its cache yet. An update that ended with that count would leave the
// old pod there.
func TestAReplicaIsLookedAtUntilAllPodsWereSeen(t *testing.T) {
	objects := observed(t, 1, 2)
	podClique, first, second := objects.PodCliques["s-0-a"], objects.Pods["s-0-a"][0], objects.Pods["s-0-a"][1]
	objects.Pods, podClique.Status = nil, grovev1alpha1.PodCliqueStatus{}
	outdated := func(seen ...*corev1.Pod) bool {
		podClique.Status = status.OfPodClique(podClique, seen, "", status.Update{})
		return objects.States()[0].Outdated
	}
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
	objects := observed(t, 1, 2)
	podClique, made := objects.PodCliques["s-0-a"], objects.Pods["s-0-a"][0]
	objects.Pods, podClique.Status = nil, grovev1alpha1.PodCliqueStatus{}
	old := made.DeepCopy()
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
		assert.Equal(t, c.want, objects.States()[0].Outdated, "with %v: outdated", c.errs)
	}
}

// TestWhyPodsHaveNoRoom: what a scheduler says of the gang, or else of the first pod.
func TestWhyPodsHaveNoRoom(t *testing.T) {
	objects := observed(t, 1, 2)
	waits, refused := objects.Pods["s-0-a"][0], objects.Pods["s-0-a"][1]
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
			gang := &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: "s-0"}}
			gang.Status.Conditions = []metav1.Condition{c.scheduled}
			objects.Gangs = map[string]*schedulerv1alpha1.PodGang{gang.Name: gang}
			objects.Pods = map[string][]*corev1.Pod{"s-0-a": c.pods}
			assert.Equal(t, c.want, objects.Replica(0).Cliques[0].Unscheduled)
		})
	}
}

// TestAReplicaIsOutdatedByItsPods: an old pod is updated even if its PodClique has not counted it yet.
func TestAReplicaIsOutdatedByItsPods(t *testing.T) {
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
			objects := observed(t, 2, 2)
			existing := objects.Pods
			changed := existing["s-1-a"][1]
			c.change(changed)
			existing["s-1-a"] = existing["s-1-a"][:1]
			name := changed.Labels[grovev1alpha1.LabelPodClique]
			existing[name] = append(existing[name], changed)
			for _, state := range objects.States() {
				assert.Equal(t, c.want && state.Replica == 1, state.Outdated, "replica %d: outdated", state.Replica)
			}
		})
	}
}

// TestPodsAreCounted: a pod with the set's current template counts while its PodClique is to have it.
func TestPodsAreCounted(t *testing.T) {
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
			objects := observed(t, 2, 3)
			c.change(objects.PodCliques["s-1-a"], objects.Pods["s-1-a"])
			decision := rollout.Decide(objects.Situation(start.Time))
			assert.Equal(t, c.want, [2]int32{decision.Updated, decision.Pods})
		})
	}
}
