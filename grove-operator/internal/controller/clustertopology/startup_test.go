package clustertopology_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/controller/clustertopology"
	"packtree.dev/grove-operator/internal/topology"
)

var errInjected = errors.New("the API server says no")

// errLasting is an answer that stays.
var errLasting = apierrors.NewInvalid(schema.GroupKind{}, "grove-topology", nil)

func on() groveconfigv1alpha1.TopologyAwareSchedulingConfiguration {
	return groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{
		Enabled: true, Levels: []groveconfigv1alpha1.TopologyLevel{{Domain: "rack", Key: "example.com/rack"}},
	}
}

// fromBefore is the default topology, as an operator with topology awareness has left it.
func fromBefore() *grovev1alpha1.ClusterTopology {
	made := topology.Default(on())
	made.Finalizers = []string{grovev1alpha1.FinalizerClusterTopology}
	return made
}

// ofOtherLevels are the default topology from before and the scheduler's, which has other levels.
func ofOtherLevels() (*grovev1alpha1.ClusterTopology, *kaiv1alpha1.Topology) {
	before := fromBefore()
	before.UID = "of-before"
	old := topology.ForScheduler(topology.Of(before))
	old.Spec.Levels = []kaiv1alpha1.TopologyLevel{{NodeLabel: "example.com/host"}}
	return before, old
}

// reconciler reads and writes a cluster with objects, in which some calls fail.
func reconciler(
	t *testing.T, configuration groveconfigv1alpha1.TopologyAwareSchedulingConfiguration, failing interceptor.Funcs,
	objects ...client.Object,
) *clustertopology.Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{grovev1alpha1.AddToScheme, kaiv1alpha1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(failing).Build()
	return &clustertopology.Reconciler{
		Client: cluster, Writer: controller.Writer(cluster, cluster), Configuration: configuration,
	}
}

// kindOf is the kind of an object that is applied or created.
func kindOf(t *testing.T, object any) string {
	t.Helper()
	named, ok := object.(interface{ GetKind() string })
	require.True(t, ok, "%T has no kind", object)
	return named.GetKind()
}

func TestStartupEndsTheProgramWhereTheTopologiesCannotBeMade(t *testing.T) {
	for _, kind := range []string{"ClusterTopology", "Topology"} {
		t.Run(kind, func(t *testing.T) {
			failing := interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration,
					options ...client.ApplyOption) error {
					if kindOf(t, object) == kind {
						return errLasting
					}
					return c.Apply(ctx, object, options...)
				},
				Create: func(ctx context.Context, c client.WithWatch, object client.Object,
					options ...client.CreateOption) error {
					if kindOf(t, object) == kind {
						return errLasting
					}
					return c.Create(ctx, object, options...)
				},
			}
			err := reconciler(t, on(), failing).Startup(t.Context())
			require.ErrorIs(t, err, errLasting)
			require.ErrorContains(t, err, kind+" grove-topology")
			assert.True(t, strings.HasPrefix(err.Error(), "starting topology awareness: "), err)
		})
	}
}

func TestStartupMakesTheTopologies(t *testing.T) {
	r := reconciler(t, on(), interceptor.Funcs{})
	require.NoError(t, r.Startup(t.Context()))
	made, ofScheduler := &grovev1alpha1.ClusterTopology{}, &kaiv1alpha1.Topology{}
	for _, object := range []client.Object{made, ofScheduler} {
		require.NoError(t, r.Client.Get(t.Context(), client.ObjectKey{Name: grovev1alpha1.DefaultClusterTopologyName},
			object))
	}
	assert.Equal(t, "example.com/rack", made.Spec.Levels[0].Key)
	assert.Equal(t, "example.com/rack", ofScheduler.Spec.Levels[0].NodeLabel)
}

func TestStartupReadsAgainWhatItCouldNotRead(t *testing.T) {
	failures := 3
	r := reconciler(t, on(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			options ...client.GetOption) error {
			if failures > 0 {
				failures--
				return errInjected
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	require.NoError(t, r.Startup(t.Context()))
	assert.Zero(t, failures, "failures more to come")
}

func TestStartupWaitsForRightsThatAreNew(t *testing.T) {
	refusals := 3
	r := reconciler(t, on(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object,
			options ...client.CreateOption) error {
			if refusals > 0 {
				refusals--
				return apierrors.NewForbidden(schema.GroupResource{Resource: "topologies"}, object.GetName(),
					errors.New("cannot find RESTMapping"))
			}
			return c.Create(ctx, object, options...)
		},
	})
	require.NoError(t, r.Startup(t.Context()))
	assert.Zero(t, refusals)
}

func TestStartupReplacesTheSchedulersTopologyAtOnce(t *testing.T) {
	before, old := ofOtherLevels()
	r := reconciler(t, on(), interceptor.Funcs{}, before, old)
	require.NoError(t, r.Startup(t.Context()))
	found := &kaiv1alpha1.Topology{}
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(old), found),
		"until the next look the gangs have no Topology")
	assert.Empty(t, cmp.Diff([]kaiv1alpha1.TopologyLevel{{NodeLabel: "example.com/rack"}}, found.Spec.Levels),
		"levels (-want +got)")
}

func TestStartupLivesThroughTheControllerDoingTheSame(t *testing.T) {
	before, old := ofOtherLevels()
	old.UID = "old"
	var once sync.Once
	r := reconciler(t, on(), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object,
			options ...client.DeleteOption) (err error) {
			once.Do(func() {
				another := topology.ForScheduler(topology.Of(before))
				another.UID = "replaced"
				err = errors.Join(c.Delete(ctx, old.DeepCopy()), c.Create(ctx, another),
					apierrors.NewConflict(schema.GroupResource{Resource: "topologies"}, old.Name,
						errors.New("another UID")))
			})
			if err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
	}, before, old)
	require.NoError(t, r.Startup(t.Context()))
	found := &kaiv1alpha1.Topology{}
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(old), found))
	assert.Equal(t, "replaced", string(found.UID))
}

func TestStartupWaitsForATopologyWhoseEndSomebodyHoldsUp(t *testing.T) {
	before, old := ofOtherLevels()
	old.Finalizers = []string{"example.com/held"}
	r := reconciler(t, on(), interceptor.Funcs{}, before, old)
	for range 2 { // The deletion brings the next pass.
		require.NoError(t, r.Startup(t.Context()))
	}
	found := &kaiv1alpha1.Topology{}
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(old), found))
	require.NotNil(t, found.DeletionTimestamp)
}

// logged are the log lines of a startup, which does not end the program.
func logged(t *testing.T, r *clustertopology.Reconciler) string {
	t.Helper()
	var lines strings.Builder
	logger := funcr.New(func(prefix, arguments string) { lines.WriteString(prefix + " " + arguments + "\n") },
		funcr.Options{})
	require.NoError(t, r.Startup(log.IntoContext(t.Context(), logger)), "the program ends")
	return lines.String()
}

func TestStartupWithoutTopologyAwarenessRemovesTheDefaultOne(t *testing.T) {
	r := reconciler(t, groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{}, interceptor.Funcs{}, fromBefore())
	assert.Empty(t, logged(t, r), "logged")
	err := r.Client.Get(t.Context(), client.ObjectKey{Name: grovev1alpha1.DefaultClusterTopologyName},
		&grovev1alpha1.ClusterTopology{})
	assert.True(t, apierrors.IsNotFound(err), "it is still there: %v", err)
}

func TestWhatCannotBeRemovedAtStartupIsLoggedAndNotFatal(t *testing.T) {
	for name, failing := range map[string]interceptor.Funcs{
		"reading": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object,
			...client.GetOption) error {
			return errInjected
		}},
		"deleting": {Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errInjected
		}},
		"taking the finalizer": {
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return errInjected
			}},
	} {
		t.Run(name, func(t *testing.T) {
			r := reconciler(t, groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{}, failing, fromBefore())
			lines := logged(t, r)
			assert.Contains(t, lines, "removing the default topology", "logged")
			assert.Contains(t, lines, errInjected.Error(), "logged")
		})
	}
}

func TestATopologyOfThatNameWhichTheOperatorDidNotMakeStays(t *testing.T) {
	theirs := topology.Default(on())
	theirs.Labels = nil
	r := reconciler(t, groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{}, interceptor.Funcs{}, theirs)
	assert.Empty(t, logged(t, r), "logged")
	assert.NoError(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
}
