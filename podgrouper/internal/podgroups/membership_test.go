package podgroups_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
)

func ownerNamed(name string) grouping.Owner {
	return grouping.Owner{Object: &metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Kind: jobKind}
}

func podIn(podGroup string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", UID: "uid-pod"}}
	pod.Spec.SchedulerName = kai.SchedulerName
	if podGroup != "" {
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: podGroup}
	}
	return pod
}

func TestTakenElsewhere(t *testing.T) {
	w := grouping.Workload{Owner: ownerNamed("upper"), Below: []grouping.Owner{ownerNamed("lower")}}
	for name, c := range map[string]struct {
		podGroup string
		want     bool
	}{
		"no PodGroup":                      {"", false},
		"the workload's":                   {"pg-upper-uid-upper", false},
		"one of an owner below":            {"pg-lower-uid-lower", false},
		"its own, from before it had any":  {"pg-pod-uid-pod", false},
		"that of another owner below it":   {"pg-other-uid-other", true},
		"one that a user wrote":            {"sample2", true},
		"an earlier owner of the name":     {"pg-upper-uid-before", true},
		"an earlier one of the name below": {"pg-lower-uid-before", true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podIn(c.podGroup)
			membership, _ := podgroups.MembershipOf(w, pod)
			assert.Equal(t, c.want, membership.TakenElsewhere(pod))
		})
	}
}

// writtenHere is what the API server keeps of the pod grouper's apply.
func writtenHere(pod *corev1.Pod) *corev1.Pod {
	pod.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:generateName":{}}}`)},
		{Manager: podgroups.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(
			`{"f:metadata":{"f:annotations":{"f:pod-group-name":{}},"f:labels":{"f:kai.scheduler/subgroup-name":{}}}}`)},
	}
	return pod
}

func TestAPodThatTheGrouperPutElsewhereItself(t *testing.T) {
	unread := ownerNamed("upper")
	unread.Outline = true
	own := writtenHere(podIn("pg-upper-uid-before"))
	for name, c := range map[string]struct {
		w    grouping.Workload
		pod  *corev1.Pod
		want bool
	}{
		"follows its new owner":                {grouping.Workload{Owner: ownerNamed("upper")}, own, false},
		"stays when it has lost its owner":     {grouping.Workload{Owner: catalog.PodAsOwner(own)}, own, true},
		"stays while its owner cannot be read": {grouping.Workload{Owner: unread}, own, true},
		"stays while an owner above cannot be read": {grouping.Workload{
			Owner: ownerNamed("lower"), Above: []grouping.Owner{unread}}, own, true},
		"stays where another client has put it since": {grouping.Workload{Owner: ownerNamed("upper")}, podIn("sample2"), true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, slim := range []bool{false, true} {
				pod := c.pod.DeepCopy()
				if slim {
					pod.ManagedFields = podgroups.SlimManagedFields(pod)
				}
				membership, _ := podgroups.MembershipOf(c.w, pod)
				assert.Equal(t, c.want, membership.TakenElsewhere(pod), "slim %t", slim)
			}
		})
	}
}

// The cache has no spec of pods, but their managed fields as long as they are looked at.
func TestAMemberOfAPodGroupOfKubernetesIsLeftAlone(t *testing.T) {
	pod := podIn("")
	pod.Spec.SchedulerName = kai.SchedulerName
	written := pod.DeepCopy()
	written.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "job-controller", FieldsV1: metav1.NewFieldsV1(
		`{"f:spec":{"f:containers":{},"f:schedulingGroup":{".":{},"f:podGroupName":{}}}}`)}}
	slim, whole := written.DeepCopy(), pod.DeepCopy()
	slim.ManagedFields = podgroups.SlimManagedFields(written)
	whole.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("g")}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"no member": {pod, true}, "by its spec": {whole, false}, "by its managed fields": {written, false},
		"by those that the cache keeps": {slim, false},
	} {
		assert.Equal(t, c.want, podgroups.Concerned(c.pod), "%s: concerned", name)
	}
}

func TestOtherGroup(t *testing.T) {
	for name, c := range map[string]struct {
		labels, annotations map[string]string
		want                string
	}{
		"none": {labels: map[string]string{"app": "x"}},
		"of the coscheduling plugin": {
			labels: map[string]string{"scheduling.x-k8s.io/pod-group": "x"}, want: "label scheduling.x-k8s.io/pod-group",
		},
		"of Volcano": {
			annotations: map[string]string{"scheduling.k8s.io/group-name": "x"},
			want:        "annotation scheduling.k8s.io/group-name",
		},
		"Kueue's is about quota": {labels: map[string]string{"kueue.x-k8s.io/pod-group-name": "x"}},
	} {
		pod := podIn("")
		pod.Labels, pod.Annotations = c.labels, c.annotations
		assert.Equal(t, c.want, podgroups.OtherGroup(pod), name)
	}
}

func TestMembers(t *testing.T) {
	w := grouping.Workload{Owner: ownerNamed("job")}
	skipped := podIn("")
	skipped.Annotations = map[string]string{kai.AnnotationSkipPodGrouper: "true"}
	finished, finishedMember := podIn(""), podIn("pg-job-uid-job")
	finished.Status.Phase, finishedMember.Status.Phase = corev1.PodSucceeded, corev1.PodSucceeded
	newcomer, member := podIn(""), podIn("pg-job-uid-job")
	got := podgroups.Members(w, []*corev1.Pod{skipped, finished, podIn("sample2"), newcomer, member, finishedMember})
	assert.Empty(t, cmp.Diff([]*corev1.Pod{newcomer, member, finishedMember}, got), "members (-want +got)")
}
