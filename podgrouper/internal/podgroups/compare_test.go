package podgroups_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/podgroups"
)

func managed(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func live(entries ...metav1.ManagedFieldsEntry) *scheduling.PodGroup {
	minMember := int32(2)
	return &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			ManagedFields: entries,
			Labels:        map[string]string{kai.LabelQueue: "a"},
		},
		Spec: scheduling.PodGroupSpec{MinMember: &minMember, Queue: "a"},
	}
}

const (
	queueField  = `{"f:spec":{"f:queue":{}}}`
	queueAndAll = `{"f:metadata":{"f:labels":{"f:kai.scheduler/queue":{}}},"f:spec":{"f:queue":{},"f:minMember":{}}}`
)

var (
	ours      = managed(podgroups.FieldOwner, metav1.ManagedFieldsOperationApply, queueAndAll)
	theirs    = managed("kubectl-edit", metav1.ManagedFieldsOperationUpdate, queueField)
	scheduler = metav1.ManagedFieldsEntry{
		Manager: podgroups.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`),
	}
)

func TestMadeHere(t *testing.T) {
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"applied by us":           {[]metav1.ManagedFieldsEntry{theirs, ours}, true},
		"made by another client":  {[]metav1.ManagedFieldsEntry{theirs}, false},
		"only its status is ours": {[]metav1.ManagedFieldsEntry{theirs, scheduler}, false},
		"updated by one of the same name": {
			[]metav1.ManagedFieldsEntry{managed(podgroups.FieldOwner, metav1.ManagedFieldsOperationUpdate,
				queueAndAll)}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, podgroups.MadeHere(live(c.entries...)))
		})
	}
}

func TestYieldTo(t *testing.T) {
	withoutQueue := managed(podgroups.FieldOwner, metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:minMember":{}}}`)
	for name, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"what is ours stays":                {[]metav1.ManagedFieldsEntry{ours}, "b"},
		"what both own stays":               {[]metav1.ManagedFieldsEntry{ours, theirs}, "b"},
		"what an administrator took is his": {[]metav1.ManagedFieldsEntry{withoutQueue, theirs}, ""},
		"what nobody owns is ours to set":   {[]metav1.ManagedFieldsEntry{withoutQueue}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			desired := live()
			desired.Spec.Queue = "b"
			podgroups.YieldTo(live(c.entries...), desired)
			assert.Equal(t, c.want, desired.Spec.Queue, "the queue to apply")
		})
	}
}

func TestTreeShared(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   bool
	}{
		"a minimum":                {`{"f:spec":{"f:minMember":{}}}`, true},
		"a part of the constraint": {`{"f:spec":{"f:topologyConstraint":{"f:preferredTopologyLevel":{}}}}`, true},
		"a part of a group":        {`{"f:spec":{"f:subGroups":{"k:{\"name\":\"a\"}":{"f:minSubGroup":{}}}}}`, true},
		"what is not part of a tree": {
			`{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:queue":{},"f:markUnschedulable":{}}}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := managed("kubectl-edit", metav1.ManagedFieldsOperationUpdate, c.fields)
			assert.Equal(t, c.want, podgroups.TreeShared(live(ours, other)))
		})
	}
	cleared := managed(podgroups.FieldOwner, metav1.ManagedFieldsOperationUpdate, `{"f:spec":{"f:minMember":{}}}`)
	assert.True(t, podgroups.TreeShared(live(ours, cleared)),
		"what the pod grouper has put right by an update stays when it is no longer applied, so that it counts as another's")
	assert.False(t, podgroups.TreeShared(live(ours)), "what only the pod grouper owns is shared with nobody")
}

func TestInherited(t *testing.T) {
	owned := func(kind, name string, uid types.UID) *scheduling.PodGroup {
		podGroup := live()
		podGroup.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid}}
		return podGroup
	}
	for name, c := range map[string]struct {
		live *scheduling.PodGroup
		want bool
	}{
		"its own":                           {owned("PodGang", "gang", "2"), false},
		"of an earlier one of the name":     {owned("PodGang", "gang", "1"), true},
		"kept without its owner":            {live(), false},
		"also owned by something unrelated": {owned("Team", "gang", "1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, podgroups.Inherited(c.live, owned("PodGang", "gang", "2")))
		})
	}
}

func TestUpToDate(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	cases := map[string]struct {
		change func(live, desired *scheduling.PodGroup)
		want   bool
	}{
		"the same": {change: func(_, _ *scheduling.PodGroup) {}, want: true},
		"another minimum": {change: func(_,
			desired *scheduling.PodGroup) {
			desired.Spec.MinMember = number(3)
		}},
		"a queue that was removed": {change: func(_, desired *scheduling.PodGroup) { desired.Spec.Queue = "" }},
		"a label that was removed": {change: func(_, desired *scheduling.PodGroup) { desired.Labels = nil }},
		"a base gang that was added": {change: func(_, desired *scheduling.PodGroup) {
			desired.Annotations = map[string]string{scheduling.AnnotationBaseGang: "base"}
		}},
		"a base gang that was removed": {change: func(live, _ *scheduling.PodGroup) {
			live.Annotations = map[string]string{scheduling.AnnotationBaseGang: "base"}
		}},
		"other pods are expected": {change: func(live, desired *scheduling.PodGroup) {
			live.Annotations = map[string]string{scheduling.AnnotationExpectedPods: `{"":4}`}
			desired.Annotations = map[string]string{scheduling.AnnotationExpectedPods: `{"":5}`}
		}},
		"no pods are expected any more but those that are needed": {change: func(live, _ *scheduling.PodGroup) {
			live.Annotations = map[string]string{scheduling.AnnotationExpectedPods: `{"":4}`}
		}},
		"annotations that concern no component": {change: func(live, _ *scheduling.PodGroup) {
			live.Annotations = map[string]string{"team": "x"}
		}, want: true},
		"a queue that is another owner's": {change: func(live, desired *scheduling.PodGroup) {
			live.ManagedFields = []metav1.ManagedFieldsEntry{theirs}
			desired.Spec.Queue = ""
		}, want: true},
		"a queue that another client has changed": {change: func(live, desired *scheduling.PodGroup) {
			live.ManagedFields = []metav1.ManagedFieldsEntry{theirs}
			desired.Spec.Queue = "b"
		}, want: true},
		"another queue": {change: func(_, desired *scheduling.PodGroup) { desired.Spec.Queue = "b" }},
		"labels that concern no component": {change: func(live, _ *scheduling.PodGroup) { live.Labels["team"] = "x" },
			want: true},
		"a backoff that an administrator set": {
			change: func(live, _ *scheduling.PodGroup) { live.Spec.SchedulingBackoff = number(-1) }, want: true,
		},
		"a subgroup too many": {change: func(live, _ *scheduling.PodGroup) {
			live.Spec.SubGroups = []scheduling.SubGroup{{Name: "a", MinMember: number(1)}}
		}},
		"subgroups in another order": {change: func(live, desired *scheduling.PodGroup) {
			a, b := scheduling.SubGroup{Name: "a", MinMember: number(1)},
				scheduling.SubGroup{Name: "b", MinMember: number(1)}
			live.Spec.SubGroups, desired.Spec.SubGroups = []scheduling.SubGroup{b, a}, []scheduling.SubGroup{a, b}
		}, want: true},
		"an owner that is not stated yet": {change: func(_, desired *scheduling.PodGroup) {
			desired.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "train", UID: "42"}}
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			live, desired := live(ours), live()
			desired.ManagedFields = nil
			c.change(live, desired)
			assert.Equal(t, c.want, podgroups.UpToDate(live, desired))
		})
	}
}
