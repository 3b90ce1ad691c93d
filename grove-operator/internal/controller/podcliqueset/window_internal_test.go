package podcliqueset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func TestChildrenOfALargeSetWaitForEachOther(t *testing.T) {
	withGangs := func(count int32) grovev1alpha1.PodCliqueSetStatus {
		return grovev1alpha1.PodCliqueSetStatus{PodGangs: &grovev1alpha1.PodGangCounts{Total: count}}
	}
	updating, updated, terminating := withGangs(500), withGangs(500), withGangs(500)
	updating.UpdateProgress = &grovev1alpha1.PodCliqueSetUpdateProgress{}
	updated.UpdateProgress = updating.UpdateProgress.DeepCopy()
	updated.UpdateProgress.UpdateEndedAt = &metav1.Time{Time: time.Unix(1, 0)}
	terminating.GangTermination = &grovev1alpha1.GangTermination{}
	for name, c := range map[string]struct {
		status         grovev1alpha1.PodCliqueSetStatus
		window, relook time.Duration
	}{
		"a set without gangs":            {withGangs(0), 200 * time.Millisecond, time.Second},
		"a few gangs":                    {withGangs(50), 200 * time.Millisecond, time.Second},
		"a hundred":                      {withGangs(100), 400 * time.Millisecond, time.Second},
		"five hundred":                   {withGangs(500), 2 * time.Second, 2 * time.Second},
		"more than that":                 {withGangs(5000), 2 * time.Second, 2 * time.Second},
		"steps of an update do not wait": {updating, 200 * time.Millisecond, time.Second},
		"after an update they do":        {updated, 2 * time.Second, 2 * time.Second},
		"nor does what is recreated":     {terminating, 200 * time.Millisecond, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			require.NoError(t, grovev1alpha1.AddToScheme(scheme))
			set := &grovev1alpha1.PodCliqueSet{Status: c.status}
			set.Namespace, set.Name = "x", "s"
			r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(set).Build()}
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(set)}
			window, relook := r.window(t.Context(), request), r.relook(t.Context(), request)
			assert.Equal(t, c.window, window, "window")
			assert.Equal(t, c.relook, relook, "window")
		})
	}
}
