package children_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const currentHash = "new"

func podClique(replicas int32) *grovev1alpha1.PodClique {
	return &grovev1alpha1.PodClique{
		ObjectMeta: metav1.ObjectMeta{
			Name: "set-0-a", UID: "owner",
			Labels: map[string]string{grovev1alpha1.LabelPodTemplateHash: currentHash},
		},
		Spec: grovev1alpha1.PodCliqueSpec{Replicas: replicas},
	}
}

type option func(*corev1.Pod)

func pod(index int32, options ...option) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:              fmt.Sprintf("p%d", index),
		CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		Labels: map[string]string{
			grovev1alpha1.LabelPodIndex:        strconv.Itoa(int(index)),
			grovev1alpha1.LabelPodTemplateHash: currentHash,
		},
	}}
	made.Spec.NodeName = "node"
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, option := range options {
		option(made)
	}
	return made
}

func unscheduled(pod *corev1.Pod) { pod.Spec.NodeName = ""; notReady(pod) }
func notReady(pod *corev1.Pod)    { pod.Status.Conditions = nil }
func old(pod *corev1.Pod)         { pod.Labels[grovev1alpha1.LabelPodTemplateHash] = "old" }
func failed(pod *corev1.Pod)      { pod.Status.Phase = corev1.PodFailed }

// counted makes a pod one of a group of Kueue: of its gang's minimum, or alone.
func counted(group string) option {
	return func(pod *corev1.Pod) {
		pod.Labels[grovev1alpha1.LabelPodGang], pod.Labels[kueue.LabelGroup] = "set-0", group
	}
}

func unlabelled(pod *corev1.Pod) { delete(pod.Labels, grovev1alpha1.LabelPodIndex) }
func young(pod *corev1.Pod)      { pod.CreationTimestamp = metav1.NewTime(now) }

func terminating(since time.Duration) option {
	return func(pod *corev1.Pod) {
		deleted := metav1.NewTime(now.Add(-since))
		pod.DeletionTimestamp = &deleted
	}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		replicas int32
		existing []*corev1.Pod
		create   []int32
		delete   []string
		recheck  time.Duration
	}{
		"an empty clique gets all its pods": {replicas: 3, create: []int32{0, 1, 2}},
		"nothing is done when all is there": {replicas: 2, existing: []*corev1.Pod{pod(0), pod(1)}},
		"the lowest hole is filled first":   {replicas: 3, existing: []*corev1.Pod{pod(0), pod(2)}, create: []int32{1}},
		"indexes above a hole are kept":     {replicas: 2, existing: []*corev1.Pod{pod(5)}, create: []int32{0}},
		"a pod that is being deleted keeps its index until it is gone": {
			replicas: 2, existing: []*corev1.Pod{pod(0), pod(1, terminating(10*time.Second))},
			recheck: pods.OverdueAfter - 10*time.Second,
		},
		"a pod on a dead node gives its index up when it is overdue": {
			replicas: 2, existing: []*corev1.Pod{pod(0), pod(1, terminating(pods.OverdueAfter))}, create: []int32{1},
		},
		"a pod that Kueue counts keeps its index on a dead node": {
			replicas: 1, existing: []*corev1.Pod{pod(0, terminating(time.Hour), counted("set-0"))},
		},
		"a pod that Kueue counts alone gives it up": {
			replicas: 1, existing: []*corev1.Pod{pod(0, terminating(time.Hour), counted("set-0-a.0"))}, create: []int32{0},
		},
		"what Kueue counts alone goes before the minimum": {
			replicas: 1, existing: []*corev1.Pod{pod(0, notReady, counted("set-0")), pod(1, counted("set-0-a.1"))},
			delete: []string{"p1"},
		},
		"other holes are filled while one pod is being deleted": {
			replicas: 3, existing: []*corev1.Pod{pod(0, terminating(0))}, create: []int32{1, 2},
			recheck: pods.OverdueAfter,
		},
		"a failed pod is deleted, and replaced when it is gone": {
			replicas: 2, existing: []*corev1.Pod{pod(0, failed), pod(1)}, delete: []string{"p0"},
		},
		"a pod whose index label a user removed is replaced": {
			replicas: 1, existing: []*corev1.Pod{pod(0, unlabelled)}, create: []int32{0}, delete: []string{"p0"},
		},
		"scaled to zero": {existing: []*corev1.Pod{pod(0), pod(1)}, delete: []string{"p1", "p0"}},
		"what stands nowhere goes first, then what is not ready, then the old, then the newest": {
			replicas: 1,
			existing: []*corev1.Pod{pod(0), pod(1, young), pod(2, old), pod(3, notReady), pod(4, unscheduled)},
			delete:   []string{"p4", "p3", "p2", "p1"},
		},
		"of equals the highest index goes": {replicas: 1, existing: []*corev1.Pod{pod(0), pod(1)},
			delete: []string{"p1"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := pods.Decide(podClique(c.replicas), c.existing, "", now)
			var created []int32
			for _, addition := range plan.Create {
				created = append(created, addition.Index)
			}
			var deleted []string
			for _, pod := range plan.Delete {
				deleted = append(deleted, pod.Name)
			}
			var recheck time.Duration
			if !plan.Overdue.Next.IsZero() {
				recheck = plan.Overdue.Next.Sub(now)
			}
			got := []any{created, deleted, recheck}
			assert.Empty(t, cmp.Diff([]any{c.create, c.delete, c.recheck}, got), "create, delete, recheck (-want +got)")
		})
	}
}

func TestDecideAsksForTheSameNamesAgain(t *testing.T) {
	first, again := pods.Decide(podClique(200), nil, "", now), pods.Decide(podClique(200), nil, "", now)
	assert.Empty(t, cmp.Diff(first.Create, again.Create), "two looks at the same clique differ")
	seen := map[string]bool{}
	for _, addition := range first.Create {
		suffix, ok := strings.CutPrefix(addition.Name, "set-0-a-")
		require.True(t, ok, "name %q is not the clique's with five characters of its own", addition.Name)
		require.Len(t, suffix, 5, "name %q is not the clique's with five characters of its own", addition.Name)
		assert.False(t, seen[addition.Name],
			"name %q is not the clique's with five characters of its own", addition.Name)
		seen[addition.Name] = true
	}
}

// TestReplicasConverge creates, deletes, fails and hangs pods in random order, with a view that may be stale, and
// checks after each step that no index is given twice and no pod too many is made.
func TestReplicasConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster := &simulation{pods: map[string]*corev1.Pod{}}
		cluster.owner = podClique(rapid.Int32Range(0, 6).Draw(t, "replicas"))
		t.Repeat(map[string]func(*rapid.T){
			"":          cluster.check,
			"look":      func(*rapid.T) { cluster.look() },
			"reconcile": func(*rapid.T) { cluster.reconcile() },
			"scale":     func(t *rapid.T) { cluster.owner.Spec.Replicas = rapid.Int32Range(0, 6).Draw(t, "to") },
			"fail":      func(t *rapid.T) { cluster.change(t, failed) },
			"delete":    func(t *rapid.T) { cluster.change(t, terminating(0)) },
			"gone":      func(*rapid.T) { cluster.collect() },
		})
		for range 20 {
			cluster.look()
			cluster.reconcile()
			cluster.collect()
		}
		cluster.look()
		var indexes []int32
		for _, pod := range cluster.view {
			index, _ := layout.PodIndexOf(pod)
			indexes = append(indexes, index)
		}
		require.Equal(t, cluster.owner.Spec.Replicas, int32(len(indexes)),
			"%d replicas became pods %v", cluster.owner.Spec.Replicas, indexes)
	})
}

type simulation struct {
	owner *grovev1alpha1.PodClique
	pods  map[string]*corev1.Pod
	// view is what the cache shows: the pods at the last look.
	view []*corev1.Pod
}

func (s *simulation) look() {
	s.view = nil
	for _, name := range s.names() {
		s.view = append(s.view, s.pods[name].DeepCopy())
	}
}

func (s *simulation) names() []string {
	var names []string
	for name := range s.pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *simulation) reconcile() {
	plan := pods.Decide(s.owner, s.view, "", now)
	for _, addition := range plan.Create {
		if _, exists := s.pods[addition.Name]; !exists {
			made := pod(addition.Index)
			made.Name = addition.Name
			s.pods[addition.Name] = made
		}
	}
	for _, leaving := range plan.Delete {
		if live, ok := s.pods[leaving.Name]; ok && live.DeletionTimestamp == nil {
			terminating(0)(live)
		}
	}
}

func (s *simulation) change(t *rapid.T, how option) {
	if names := s.names(); len(names) > 0 {
		how(s.pods[rapid.SampledFrom(names).Draw(t, "pod")])
	}
}

// collect ends pods that are being deleted. The view has that before anything is created anew, as with a watch.
func (s *simulation) collect() {
	for name, pod := range s.pods {
		if pod.DeletionTimestamp != nil {
			delete(s.pods, name)
		}
	}
}

func (s *simulation) check(t *rapid.T) {
	byIndex := map[int32]string{}
	for _, name := range s.names() {
		pod := s.pods[name]
		index, _ := layout.PodIndexOf(pod)
		other, twice := byIndex[index]
		require.False(t, twice, "index %d is given to %s and %s", index, other, name)
		byIndex[index] = name
	}
}

func TestNoMorePodsArePlannedThanAPodCliqueMayHave(t *testing.T) {
	assert.Len(t, pods.Decide(podClique(2*layout.MaxReplicas), nil, "", now).Create, layout.MaxReplicas)
}

func TestAwaitEnd(t *testing.T) {
	for name, c := range map[string]struct {
		existing []*corev1.Pod
		waits    bool
	}{
		"nothing is waited for without pods": {},
		"a pod that is not deleted yet is waited for": {
			existing: []*corev1.Pod{pod(0), pod(1, terminating(time.Hour))}, waits: true,
		},
		"a pod that ends is waited for until it is overdue": {
			existing: []*corev1.Pod{pod(0, terminating(pods.OverdueAfter-time.Second))}, waits: true,
		},
		"pods on dead nodes are waited for no longer": {
			existing: []*corev1.Pod{pod(0, terminating(pods.OverdueAfter)), pod(1, terminating(time.Hour))},
		},
		"one on a dead node does not shorten the others' time": {
			existing: []*corev1.Pod{pod(0, terminating(time.Hour)), pod(1, terminating(0))}, waits: true,
		},
	} {
		waits := pods.AwaitEnd(c.existing, now)
		assert.Equal(t, c.waits, waits, "%s: waits", name)
	}
}

func TestFindOverdue(t *testing.T) {
	serving := func(pod *corev1.Pod) { pod.Labels[grovev1alpha1.LabelPodCliqueSetReplicaIndex] = "0" }
	for name, c := range map[string]struct {
		existing []*corev1.Pod
		serving  []string
		left     time.Duration
	}{
		"a pod that is not deleted is never overdue": {existing: []*corev1.Pod{pod(0, serving)}},
		"a pod that ends serves until it is overdue": {
			existing: []*corev1.Pod{pod(0, serving, terminating(10*time.Second))},
			left:     pods.OverdueAfter - 10*time.Second,
		},
		"a pod whose grace period lasts has that, and the time after it": {
			existing: []*corev1.Pod{pod(0, serving, terminating(-30*time.Second))}, left: pods.OverdueAfter +
				30*time.Second,
		},
		"the first of several comes first": {
			existing: []*corev1.Pod{pod(0, serving, terminating(0)), pod(1, serving, terminating(50*time.Second))},
			left:     pods.OverdueAfter - 50*time.Second,
		},
		"one that is overdue serves no longer": {
			existing: []*corev1.Pod{pod(0, serving, terminating(pods.OverdueAfter)), pod(1, serving)},
			serving:  []string{"p0"},
		},
		"it is taken out once": {existing: []*corev1.Pod{pod(0, terminating(time.Hour))}},
		"one that lost its index serves like another": {
			existing: []*corev1.Pod{pod(0, serving, unlabelled, terminating(time.Hour))}, serving: []string{"p0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := pods.FindOverdue(c.existing, now)
			var names []string
			for _, pod := range found.Serving {
				names = append(names, pod.Name)
			}
			var left time.Duration
			if !found.Next.IsZero() {
				left = found.Next.Sub(now)
			}
			assert.Empty(t, cmp.Diff([]any{c.serving, c.left}, []any{names, left}), "serving, left (-want +got)")
		})
	}
}

func TestAReplacementNeedsNoNameOfAPodOnADeadNode(t *testing.T) {
	first := pods.Decide(podClique(1), nil, "", now).Create[0]
	stuck := pod(0, terminating(time.Hour))
	stuck.Name = first.Name
	again := pods.Decide(podClique(1), []*corev1.Pod{stuck}, "", now).Create
	require.Len(t, again, 1)
	assert.Zero(t, again[0].Index)
	assert.NotEqual(t, first.Name, again[0].Name)
}
