package podgroups_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

var jobKind = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}

func TestNameFor(t *testing.T) {
	const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	long := strings.Repeat("a", 212) + "." + strings.Repeat("b", 40)
	cases := map[string]struct {
		kind schema.GroupVersionKind
		name string
		uid  types.UID
		want string
	}{
		"owner and uid":                        {kind: jobKind, name: "train", uid: uid, want: "pg-train-" + uid},
		"a PodGang's own name":                 {kind: owners.PodGangKind, name: "gang-0", uid: uid, want: "gang-0"},
		"an owner that never was in a cluster": {kind: jobKind, name: "train", want: "pg-train-job"},
		"a long name is cut, but not at a dot": {kind: jobKind, name: long, uid: uid,
			want: "pg-" + strings.Repeat("a", 212) + "-" + uid},
		"a uid that is none is cut": {kind: jobKind, name: "train", uid: types.UID(long),
			want: "pg-train-" + strings.Repeat("a", 63)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := podgroups.NameFor(grouping.Owner{Kind: c.kind, Object: &metav1.ObjectMeta{Name: c.name, UID: c.uid}})
			assert.Equal(t, c.want, got)
			assert.Empty(t, validation.IsDNS1123Subdomain(got), "%q is no name", got)
		})
	}
}

func TestDecide(t *testing.T) {
	owner := &metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "42", Labels: map[string]string{
		kai.LabelQueue: "team-a", kai.LabelNodePool: "gpu", kai.LabelPriorityClassName: "high",
		kai.LabelPreemptibility: "non-preemptible",
	}}
	decision := podgroups.Decide(grouping.Workload{Owner: grouping.Owner{Object: owner, Kind: jobKind}}, nil)
	want := &scheduling.PodGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.run.ai/v2alpha2", Kind: "PodGroup"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "pg-train-42", Labels: owner.Labels,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "42", Controller: new(true)},
			},
		},
		Spec: scheduling.PodGroupSpec{
			MinMember: new(int32(1)), Queue: "team-a", PriorityClassName: "high",
			Preemptibility: scheduling.NonPreemptible,
		},
	}
	assert.Empty(t, cmp.Diff(want, decision.PodGroup), "PodGroup (-want +got)")
	assert.Empty(t, append(decision.Problems, decision.Fatal...))
}

func TestWrongWordsAreReportedAndLeftOut(t *testing.T) {
	owner := &metav1.ObjectMeta{Name: "train", Labels: map[string]string{kai.LabelPreemptibility: "never"},
		Annotations: map[string]string{scheduling.AnnotationPlacement: "Tight"}}
	decision := podgroups.Decide(grouping.Workload{Owner: grouping.Owner{Object: owner, Kind: jobKind}}, nil)
	assert.Len(t, decision.Problems, 2)
	assert.Empty(t, decision.PodGroup.Spec.Preemptibility)
	assert.Nil(t, decision.PodGroup.Annotations)
}
