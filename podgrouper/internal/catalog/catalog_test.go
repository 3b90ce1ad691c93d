package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// TestAPodThatComesWhenTheGangIsGone: a RayCluster that is deleted has a Job clean up after it, from the template of
// its head.
func TestAPodThatComesWhenTheGangIsGone(t *testing.T) {
	cleanup := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		"ray.io/node-type": "redis-cleanup", "ray.io/group": "headgroup",
	}}}
	chain := owners.Chain{Owners: []grouping.Owner{
		{Object: &metav1.ObjectMeta{Name: "cleanup"},
			Kind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}},
		{Object: &metav1.ObjectMeta{Name: "cluster"},
			Kind: schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}},
	}}
	chosen := catalog.Choose(cleanup, chain)
	assert.Equal(t, "Job", chosen.Owner.Kind.Kind)
	assert.Len(t, chosen.Above, 1)
	head := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ray.io/node-type": "head",
			"ray.io/group": "headgroup"}},
	}
	assert.Equal(t, "RayCluster", catalog.Choose(head, chain).Owner.Kind.Kind)
}

func TestChoose(t *testing.T) {
	kinds := map[string]schema.GroupVersionKind{}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
		{Group: "example.com", Version: "v1", Kind: "Fleet"}, {Group: "example.com", Version: "v1", Kind: "Squadron"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "serving.knative.dev", Version: "v1",
			Kind: "Revision"},
		{Group: "serving.knative.dev", Version: "v1", Kind: "Service"},
		{Group: "ray.io", Version: "v1", Kind: "RayJob"},
		{Version: "v1", Kind: "Node"}, owners.PodGangKind,
		{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueSet"},
		{Group: "nvidia.com", Version: "v1alpha1", Kind: "DynamoGraphDeployment"},
	} {
		kinds[kind.Kind] = kind
	}
	cases := map[string]struct {
		chain []string
		want  string
		above []string
	}{
		"a pod of nobody": {want: "Pod"},
		"a static pod":    {chain: []string{"Node"}, want: "Pod", above: []string{"Node"}},
		"a Job":           {chain: []string{"Job"}, want: "Job"},
		"a Job of a CronJob": {chain: []string{"Job", "CronJob"}, want: "Job",
			above: []string{"CronJob"}},
		"a Job of something unknown": {chain: []string{"Job", "Fleet"}, want: "Job",
			above: []string{"Fleet"}},
		"each Revision of a Knative Service": {chain: []string{"Deployment", "Revision", "Service"},
			want: "Revision", above: []string{"Service"}},
		"the submitter of a RayJob": {chain: []string{"Job", "RayJob"}, want: "Job",
			above: []string{"RayJob"}},
		"something unknown, the topmost": {chain: []string{"Squadron", "Fleet"}, want: "Fleet"},
		"something unknown below kinds that are passed": {chain: []string{"Fleet", "PodCliqueSet"}, want: "Fleet",
			above: []string{"PodCliqueSet"}},
		"a PodGang of a DynamoGraphDeployment": {
			chain: []string{"PodGang", "PodCliqueSet", "DynamoGraphDeployment"}, want: "PodGang",
			above: []string{"PodCliqueSet", "DynamoGraphDeployment"},
		},
		"the outermost of two kinds with groupers": {chain: []string{"Job", "Fleet", "PodGang"}, want: "PodGang"},
		"only kinds that are passed leave the pod itself": {chain: []string{"PodCliqueSet"}, want: "Pod",
			above: []string{"PodCliqueSet"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var chain owners.Chain
			for _, kind := range c.chain {
				chain.Owners = append(chain.Owners, grouping.Owner{Object: &metav1.ObjectMeta{Name: kind},
					Kind: kinds[kind]})
			}
			chosen := catalog.Choose(&corev1.Pod{}, chain)
			assert.Equal(t, c.want, chosen.Owner.Kind.Kind)
			var above []string
			for _, owner := range chosen.Above {
				above = append(above, owner.Kind.Kind)
			}
			assert.Empty(t, cmp.Diff(c.above, above), "above (-want +got)")
		})
	}
}
