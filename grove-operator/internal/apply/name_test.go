package apply_test

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/apply"
)

func podCliqueOf(owner string) *grovev1alpha1.PodClique {
	set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: owner, UID: types.UID("uid of " + owner)}}
	return &grovev1alpha1.PodClique{
		TypeMeta: metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodClique"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "s-0-a",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))},
		},
	}
}

// TestTheCacheTellsWhetherANameIsFree has no reader past the cache, which knows all PodCliques.
func TestTheCacheTellsWhetherANameIsFree(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := grovev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		existing []client.Object
		applied  bool
	}{
		"a free name":                      {applied: true},
		"its own, which the list missed":   {existing: []client.Object{podCliqueOf("s")}, applied: true},
		"a PodClique that another set has": {existing: []client.Object{podCliqueOf("other")}},
	} {
		t.Run(name, func(t *testing.T) {
			applied, forced := false, false
			cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.existing...).WithInterceptorFuncs(interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, options ...client.ApplyOption) error {
					chosen := &client.ApplyOptions{}
					chosen.ApplyOptions(options)
					applied, forced = true, chosen.Force != nil && *chosen.Force
					return nil
				},
			}).Build()
			err := apply.Writer{Client: cluster}.Apply(t.Context(), podCliqueOf("s"), nil)
			if applied != c.applied || forced || errors.As(err, new(apply.ForeignError)) == c.applied {
				t.Errorf("applied %t, forced %t, error %v; want applied %t and nothing forced", applied, forced, err, c.applied)
			}
		})
	}
}
