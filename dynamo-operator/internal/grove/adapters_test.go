package grove_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// adapterName is the name of the adapter of a component A, which its pods have in a label.
func adapterName(t *testing.T, standing grove.Standing) string {
	t.Helper()
	for _, object := range objects(t)(grove.Standing{Deployment: standing.Deployment}.Objects(nil)) {
		if adapter, ok := object.(*grove.Adapter); ok {
			return adapter.Name
		}
	}
	t.Fatal("no adapter")
	return ""
}

func TestAnAdapterHasItsNumberWhoeverSetsAnother(t *testing.T) {
	for name, c := range map[string]struct{ own, live, adapter, scaled int32 }{
		"it is scaled up":                      {own: 1, live: 1, adapter: 4, scaled: 4},
		"it is stopped":                        {own: 1, live: 1, adapter: 0, scaled: 0},
		"the deployment's number is no matter": {own: 9, live: 4, adapter: 4, scaled: -1},
		"the live object's number is set back": {own: 1, live: 7, adapter: 4, scaled: 4},
	} {
		for _, multinode := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				component := &v1beta1.ComponentSpec{Name: "A", Replicas: &c.own,
					ScalingAdapter: &v1beta1.ScalingAdapter{}}
				standing := standingOf(component, multinode, 1, c.live, "")
				key := adapterName(t, standing)
				before := metav1.NewTime(time.Unix(1, 0))
				adapter := &grove.Adapter{
					Spec:   v1alpha1.DynamoGraphDeploymentScalingAdapterSpec{Replicas: c.adapter},
					Status: v1alpha1.DynamoGraphDeploymentScalingAdapterStatus{LastScaleTime: &before},
				}
				standing.Adapters = map[string]*grove.Adapter{key: adapter}
				scaled, lastScaled := int32(-1), before
				for _, scaling := range standing.Scalings() {
					scaled, lastScaled = scaling.Replicas, metav1.NewTime(time.Unix(2, 0))
				}
				assert.Equal(t, c.scaled, scaled)
				for _, object := range objects(t)(standing.Objects(nil)) {
					_, ok := object.(*grove.Adapter)
					assert.False(t, ok, "what stands is written anew")
				}
				reports := standing.Reports(metav1.NewTime(time.Unix(2, 0)))
				require.Len(t, reports, 1)
				want := v1alpha1.DynamoGraphDeploymentScalingAdapterStatus{Selector: v1beta1.LabelSelector + "=" + key,
					LastScaleTime: &lastScaled}
				assert.Empty(t, cmp.Diff(want, reports[0].Status), "status (-want +got)")
				if reports[0].Adapter != adapter {
					t.Errorf("the report is about %v", reports[0].Adapter)
				}
			})
		}
	}
}

func TestAnAdapterBeginsWithTheNumberThatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		own, template, live int32
		requested           string
		begins              int32
	}{
		"that of the deployment":                             {own: 2, template: 2, live: 2, begins: 2},
		"that of a user that has scaled since":               {own: 2, template: 2, live: 5, begins: 5},
		"that of the deployment where it asks for a new one": {own: 3, template: 2, live: 5, begins: 3},
		"that of a user that has scaled since a later asking": {own: 3, template: 2, live: 5,
			requested: "3", begins: 5},
	} {
		t.Run(name, func(t *testing.T) {
			component := &v1beta1.ComponentSpec{Name: "A", Replicas: &c.own, ScalingAdapter: &v1beta1.ScalingAdapter{}}
			standing := standingOf(component, false, c.template, c.live, c.requested)
			for _, object := range objects(t)(standing.Objects(nil)) {
				if adapter, ok := object.(*grove.Adapter); ok && adapter.Spec.Replicas != c.begins {
					t.Errorf("begins with %d, want %d", adapter.Spec.Replicas, c.begins)
				}
			}
		})
	}
}

func TestAnAdapterThatNobodyAsksForGoes(t *testing.T) {
	standing := standingOf(&v1beta1.ComponentSpec{Name: "A"}, false, 1, 1, "")
	standing.Adapters = map[string]*grove.Adapter{"d-a": {ObjectMeta: metav1.ObjectMeta{Name: "d-a"}}}
	left := standing.Leftovers(objects(t)(standing.Objects(nil)))
	require.Len(t, left, 1, "left over")
	assert.Equal(t, "d-a", left[0].GetName(), "left over")
	standing.Adapters["d-a"].DeletionTimestamp = new(metav1.Now())
	assert.Empty(t, standing.Leftovers(nil), "what goes is deleted again")
}

func TestTheDeploymentHasItsNumberWhereTheKindOfAdaptersIsMissing(t *testing.T) {
	for _, multinode := range []bool{false, true} {
		component := &v1beta1.ComponentSpec{Name: "A", Replicas: new(int32(4)),
			ScalingAdapter: &v1beta1.ScalingAdapter{}}
		standing := standingOf(component, multinode, 1, 1, "")
		standing.NoAdapters = true
		scalings := standing.Scalings()
		require.Len(t, scalings, 1, "multinode %v", multinode)
		assert.Equal(t, int32(4), scalings[0].Replicas, "multinode %v", multinode)
		standing = standingOf(component, multinode, 1, 7, "4")
		standing.NoAdapters = true
		assert.Empty(t, standing.Scalings(), "multinode %v", multinode)
	}
}
