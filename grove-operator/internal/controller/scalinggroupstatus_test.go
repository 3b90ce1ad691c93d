package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/podcliquescalinggroup"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

func TestAStatusIsNotWrittenBeforeNewPodCliquesAreSeen(t *testing.T) {
	set := fixture.Set(t, `
metadata: {name: s, namespace: x, uid: s}
spec: {replicas: 1, template: {cliques: [{name: b}], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]}}
`)
	for name, c := range map[string]struct {
		observed int64
		refusal  error
		want     int
	}{
		"of a new group":              {observed: 0, want: 0},
		"of a group that was scaled":  {observed: 1, want: 0},
		"but where they are replaced": {observed: 2, want: 1},
		"but with an error":           {observed: 0, refusal: errors.New("refused"), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			group := children.ScalingGroup(set, 0, &set.Spec.Template.PodCliqueScalingGroups[0])
			group.UID, group.Generation, group.Status.ObservedGeneration = "group", 2, c.observed
			made, statuses := 0, 0
			cached := cacheOf(set, group).WithInterceptorFuncs(interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					made++
					return c.refusal
				},
				SubResourceApply: countsStatuses(&statuses),
			}).Build()
			reconciler := &podcliquescalinggroup.Reconciler{Client: cached, Writer: controller.Writer(cached, cached),
				Clock: testingclock.NewFakePassiveClock(time.Unix(1_800_000_000, 0))}
			result, err := reconciler.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(group)})
			require.ErrorIs(t, err, c.refusal)
			assert.Equal(t, 1, made)
			assert.Equal(t, c.want, statuses)
			assert.Equal(t, c.want == 0, result.RequeueAfter > 0)
		})
	}
}
