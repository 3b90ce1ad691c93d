package podgroups_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
)

func TestAnOwnerMakesNoMembers(t *testing.T) {
	skip := map[string]string{kai.AnnotationSkipPodGrouper: "true"}
	going := metav1.NewTime(time.Unix(1000, 0))
	template := func(annotation string) grouping.Fields {
		return grouping.Fields{"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{annotation: "true"}}}}}
	}
	cronJob := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	jobSet := schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	rayJob := schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJob"}
	for name, c := range map[string]struct {
		owner, above metav1.ObjectMeta
		aboveKind    schema.GroupVersionKind
		content      grouping.Fields
		want         bool
	}{
		"as long as it stands": {},
		"when it goes":         {owner: metav1.ObjectMeta{DeletionTimestamp: &going}, want: true},
		"when it goes without its pods": {
			owner: metav1.ObjectMeta{DeletionTimestamp: &going, Finalizers: []string{metav1.FinalizerOrphanDependents}},
		},
		"when its pods are left alone":           {owner: metav1.ObjectMeta{Annotations: skip}, want: true},
		"when an owner above says so":            {above: metav1.ObjectMeta{Annotations: skip}, want: true},
		"when its template says so":              {content: template(kai.AnnotationSkipPodGrouper), want: true},
		"when its template says no such":         {content: template("a")},
		"when its pods are those of one above":   {aboveKind: jobSet, want: true},
		"when one above only makes workloads":    {aboveKind: cronJob},
		"when its pods are apart from one above": {aboveKind: rayJob},
	} {
		t.Run(name, func(t *testing.T) {
			if c.aboveKind.Empty() {
				c.aboveKind = cronJob
			}
			owner := grouping.Owner{Object: &c.owner, Kind: jobKind, Content: c.content}
			assert.Equal(t, c.want, podgroups.MakesNoMembers(owner, []grouping.Owner{{Object: &c.above, Kind: c.aboveKind}}))
		})
	}
}
