package gangs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/gangs"
)

func TestWhyGated(t *testing.T) {
	const own = "grove.io/podgang-pending-creation"
	pod := func(name string, gates ...string) *corev1.Pod {
		made := &corev1.Pod{}
		made.Namespace, made.Name = "n", name
		for _, gate := range gates {
			made.Spec.SchedulingGates = append(made.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
		}
		return made
	}
	gang := &schedulerv1alpha1.PodGang{}
	gang.Spec.PodGroups = []schedulerv1alpha1.PodGroup{{
		Name: "s-0-a", MinReplicas: 1,
		PodReferences: []schedulerv1alpha1.NamespacedName{{Namespace: "n", Name: "listed"}},
	}}
	base := func(scheduled int32) *gangs.Base {
		return &gangs.Base{Name: "s-0", Gang: gang, OnNodes: func(string) int32 { return scheduled }}
	}
	held := gang.DeepCopy()
	held.Annotations = map[string]string{"packtree.dev/held-for-topology": "level rack of ClusterTopology x"}
	inQueue := pod("listed", kueue.GateAdmission)
	inQueue.Labels = map[string]string{kueue.LabelQueue: "team-a"}
	for name, c := range map[string]struct {
		pods []*corev1.Pod
		gang *schedulerv1alpha1.PodGang
		base *gangs.Base
		want string
	}{
		"without gates there is nothing to say": {pods: []*corev1.Pod{pod("listed")}, gang: gang, want: ""},
		"the gang does not exist": {pods: []*corev1.Pod{pod("a", own), pod("b", own)},
			want: "pods waiting for PodGang s-0-g-0 to list them: 2"},
		"the gang lists one of two": {pods: []*corev1.Pod{pod("listed"), pod("b", own)}, gang: gang,
			want: "pods waiting for PodGang s-0-g-0 to list them: 1"},
		"the base gang is not scheduled": {pods: []*corev1.Pod{pod("listed", own)}, gang: gang, base: base(0),
			want: "pods waiting until every group of the base gang s-0 has its minimum on nodes: 1"},
		"the gang is held": {pods: []*corev1.Pod{pod("listed", own)}, gang: held, base: base(0),
			want: "pods held for level rack of ClusterTopology x, which is missing: 1"},
		"everything is there and the patch failed": {pods: []*corev1.Pod{pod("listed", own)}, gang: gang, base: base(1),
			want: "pods with a gate that is being removed: 1"},
		"gates of others are named": {
			pods: []*corev1.Pod{pod("listed", "b.example.com/hold", "a.example.com/hold")}, gang: gang,
			want: "pods with gates that others put on them (a.example.com/hold, b.example.com/hold): 1",
		},
		"a pod waits for quota": {pods: []*corev1.Pod{inQueue}, gang: gang,
			want: "pods that wait for quota in queue team-a: 1"},
		"each pod counts once, for what comes first": {
			pods: []*corev1.Pod{pod("x", own, "example.com/hold"), pod("listed", "example.com/hold")}, gang: gang,
			want: "pods waiting for PodGang s-0-g-0 to list them: 1; pods with gates that others put on them " +
				"(example.com/hold): 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, gangs.WhyGated(c.pods, "", "s-0-g-0", c.gang, c.base), "WhyGated")
		})
	}
}

func TestNewPodsAreSoonListed(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	pod := func(name string, age time.Duration, gate string) *corev1.Pod {
		made := &corev1.Pod{}
		made.Namespace, made.Name = "n", name
		made.CreationTimestamp = metav1.NewTime(now.Add(-age))
		made.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
		return made
	}
	const own, others = "grove.io/podgang-pending-creation", "example.com/hold"
	gang := &schedulerv1alpha1.PodGang{}
	gang.Spec.PodGroups = []schedulerv1alpha1.PodGroup{{
		Name:          "s-0-a",
		PodReferences: []schedulerv1alpha1.NamespacedName{{Namespace: "n", Name: "listed"}},
	}}
	for name, c := range map[string]struct {
		pods []*corev1.Pod
		gang *schedulerv1alpha1.PodGang
		want time.Duration
	}{
		"nothing is expected without pods":  {gang: gang},
		"a listed pod is not":               {pods: []*corev1.Pod{pod("listed", 0, own)}, gang: gang},
		"a pod with gates of others is not": {pods: []*corev1.Pod{pod("p", 0, others)}, gang: gang},
		"a new pod is": {pods: []*corev1.Pod{pod("p", 0, own)}, gang: gang,
			want: 2 * time.Second},
		"without a gang too":           {pods: []*corev1.Pod{pod("p", time.Second, own)}, want: time.Second},
		"an older pod is not any more": {pods: []*corev1.Pod{pod("p", 2*time.Second, own)}},
		"the oldest decides": {pods: []*corev1.Pod{pod("p", time.Second, own), pod("q", 0, own)},
			want: time.Second},
		"not with an old one beside a new one": {pods: []*corev1.Pod{pod("p", 0, own), pod("q", time.Minute, own)}},
		"a pod of the future is not":           {pods: []*corev1.Pod{pod("p", -time.Minute, own)}},
	} {
		t.Run(name, func(t *testing.T) {
			want := time.Time{}
			if c.want > 0 {
				want = now.Add(c.want)
			}
			got := gangs.ListedUntil(c.pods, c.gang, now)
			assert.True(t, got.Equal(want), "until %s, want %s", got, want)
		})
	}
}
