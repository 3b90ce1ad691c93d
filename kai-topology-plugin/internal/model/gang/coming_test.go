package gang_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// memberOf is a pod of a leaf, so many seconds old.
func memberOf(leaf, name string, age int, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: map[string]string{kai.LabelSubGroupName: leaf},
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, -age, 0, time.UTC)),
	}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func done(pod *corev1.Pod)    { pod.Status.Phase = corev1.PodSucceeded }
func onNode(pod *corev1.Pod)  { pod.Spec.NodeName = "n" }
func leaving(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Now()} }

// leaderAndWorkers is a gang of a leader, two workers that are needed, and as many pods as the annotation says.
func leaderAndWorkers(expected string) *scheduling.PodGroup {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "gang"}}
	if expected != "" {
		podGroup.Annotations = map[string]string{scheduling.AnnotationExpectedPods: expected}
	}
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: "rack"}
	podGroup.Spec.SubGroups = []scheduling.SubGroup{{Name: "leader", MinMember: ptr.To[int32](1)},
		{Name: "worker", MinMember: ptr.To[int32](2)}}
	return podGroup
}

func TestPodsThatAreStillToCome(t *testing.T) {
	leader := memberOf("leader", "l", 9)
	for name, c := range map[string]struct {
		expected string
		pods     []*corev1.Pod
		want     []string
	}{
		"all that are expected are there": {
			pods: []*corev1.Pod{leader, memberOf("worker", "a", 3), memberOf("worker", "b", 2)},
		},
		"as many as the PodGroup says, like the youngest of their leaf": {
			expected: `{"worker":4}`,
			pods:     []*corev1.Pod{leader, memberOf("worker", "young", 1), memberOf("worker", "old", 3)},
			want:     []string{"young (expected 1)", "young (expected 2)"},
		},
		"as many as are needed, if the PodGroup does not say": {
			pods: []*corev1.Pod{leader, memberOf("worker", "a", 1)}, want: []string{"a (expected 1)"},
		},
		"or says it in a way that cannot be understood": {
			expected: "many", pods: []*corev1.Pod{leader, memberOf("worker", "a", 1)}, want: []string{"a (expected 1)"},
		},
		"those behind gates as they are, whether or not they are expected": {
			expected: `{"worker":3}`,
			pods: []*corev1.Pod{leader, memberOf("worker", "a", 3), memberOf("worker", "b", 2, gated),
				memberOf("worker", "c", 1, gated)},
			want: []string{"b", "c"},
		},
		"those that are done are not made again": {
			expected: `{"worker":3}`,
			pods:     []*corev1.Pod{leader, memberOf("worker", "a", 3), memberOf("worker", "b", 2, done)},
			want:     []string{"b (expected 1)"},
		},
		"those that are deleted are": {
			expected: `{"worker":3}`,
			pods:     []*corev1.Pod{leader, memberOf("worker", "a", 3), memberOf("worker", "b", 2, leaving)},
			want:     []string{"a (expected 1)", "a (expected 2)"},
		},
		"of a leaf without a pod nobody knows what they ask for": {expected: `{"worker":3}`, pods: []*corev1.Pod{leader}},
		"fewer than there are": {expected: `{"worker":1,"leader":0}`,
			pods: []*corev1.Pod{leader, memberOf("worker", "a", 1), memberOf("worker", "b", 1)}},
		"none once a pod of the gang stands": {
			expected: `{"worker":4}`, pods: []*corev1.Pod{memberOf("leader", "l", 9, onNode), memberOf("worker", "a", 1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assembled, _ := gang.Assemble(leaderAndWorkers(c.expected), c.pods, nil)
			var got []string
			for _, pod := range assembled.Coming() {
				got = append(got, pod.Name)
				if !gang.Pending(pod) || gang.LeafOf(pod) != "worker" {
					t.Errorf("pod %s of leaf %s cannot be placed: %+v", pod.Name, gang.LeafOf(pod), pod.Spec)
				}
			}
			assert.Empty(t, cmp.Diff(c.want, got), "coming (-want +got)")
		})
	}
}

func TestAGangThatMayStandAnywhereIsNotLookedAheadFor(t *testing.T) {
	podGroup := leaderAndWorkers(`{"worker":4}`)
	podGroup.Spec.TopologyConstraint = nil
	assembled, _ := gang.Assemble(podGroup, []*corev1.Pod{memberOf("worker", "a", 1)}, nil)
	assert.Empty(t, assembled.Coming(), "pods are looked ahead for")
	podGroup.Spec.SubGroups[1].TopologyConstraint = &scheduling.TopologyConstraint{Topology: "t",
		PreferredTopologyLevel: "rack"}
	assembled, _ = gang.Assemble(podGroup, []*corev1.Pod{memberOf("worker", "a", 1)}, nil)
	assert.Len(t, assembled.Coming(), 3, "pods are looked ahead for, though their leaf prefers a rack")
}

func TestNoMoreIsLookedAheadForThanCanBeOfUse(t *testing.T) {
	assembled, _ := gang.Assemble(leaderAndWorkers(`{"leader":2000000000,"worker":2000000000}`),
		[]*corev1.Pod{memberOf("leader", "l", 1), memberOf("worker", "a", 1)}, nil)
	assert.Len(t, assembled.Coming(), 1024, "pods are looked ahead for")
}

// A pod to come has its own volumes and devices; their nodes are not known yet.
func TestWhatIsMadeForOnePodAloneIsNotThatOfAnother(t *testing.T) {
	claim := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	first := memberOf("worker", "db-0", 1, func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "data", VolumeSource: claim("data-db-0")},
			{Name: "models", VolumeSource: claim("models")},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{
			{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}, {Name: "switch", ResourceClaimName: ptr.To("switch")},
		}
	})
	assembled, _ := gang.Assemble(leaderAndWorkers(""), []*corev1.Pod{first}, nil)
	coming := assembled.Coming()
	if len(coming) != 1 || len(coming[0].Spec.Volumes) != 1 || coming[0].Spec.Volumes[0].Name != "models" ||
		len(coming[0].Spec.ResourceClaims) != 1 || coming[0].Spec.ResourceClaims[0].Name != "switch" {
		t.Fatalf("coming: %+v", coming)
	}
	if len(first.Spec.Volumes) != 3 || first.Spec.Volumes[0].Name != "data" || coming[0].UID == first.UID {
		t.Errorf("the pod that is there was changed: %+v", first.Spec.Volumes)
	}
}
