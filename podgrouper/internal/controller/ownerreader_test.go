package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"packtree.dev/podgrouper/internal/owners"
)

// If a walk ended at an owner that the cache did not have yet, nothing enqueues the pod again, unless the owner is the
// pod's nearest: it is not known then which pods are below the owner.
func TestAnOwnerIsReadAlsoWhileTheCacheLagsBehind(t *testing.T) {
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	reading := func(uid types.UID, from string) client.Reader {
		objects := fake.NewClientBuilder().WithScheme(Scheme())
		if uid != "" {
			objects.WithObjects(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "web", UID: uid, Labels: map[string]string{"from": from},
			}})
		}
		return objects.Build()
	}
	for name, c := range map[string]struct {
		cached, live types.UID
		want         string
	}{
		"the cache shows it":                            {cached: "new", live: "", want: "cache"},
		"the cache shows nothing yet":                   {live: "new", want: "cluster"},
		"the cache shows what had its name before":      {cached: "old", live: "new", want: "cluster"},
		"another one has its name now":                  {cached: "newer", live: "newer"},
		"it is gone, and the cache shows one before it": {cached: "old", live: ""},
	} {
		t.Run(name, func(t *testing.T) {
			kinds := &ownerKinds{known: map[schema.GroupVersionKind]ownerKind{kind: {namespaced: true,
				watched: time.Now()}}}
			reader := &ownerReader{cached: reading(c.cached, "cache"), live: reading(c.live, "cluster"), kinds: kinds}
			owner, err := reader.read(t.Context(), owners.Reference{Kind: kind, Namespace: "default",
				Name: "web", UID: "new"})
			if c.want == "" {
				assert.ErrorIs(t, err, owners.ErrMissing)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, owner.GetLabels()["from"], "read")
			assert.Equal(t, types.UID("new"), owner.GetUID(), "read")
		})
	}
}
