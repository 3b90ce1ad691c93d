package managerstart_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/shared/installation"
)

var gadgets = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Gadget"}

// definition of gadgets, which can be written or not.
func definition(name string, established apiextensionsv1.ConditionStatus) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gadgets.Group, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: gadgets.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: gadgets.Version, Served: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: established},
			}},
	}
}

// when starts a source that fails so often before it succeeds. It returns the cache of definitions that triggers it,
// the number of each start, and the queue of its controller.
func when(
	t *testing.T, failures int,
) (*controllertest.FakeInformer, chan int, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.Helper()
	scheme := clientgoscheme.Scheme
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	definitions := &informertest.FakeInformers{Scheme: scheme}
	informer, err := definitions.FakeInformerFor(t.Context(), &apiextensionsv1.CustomResourceDefinition{})
	require.NoError(t, err)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(gadgets, meta.RESTScopeNamespace)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	starts := make(chan int, 10)
	started := 0
	source := installation.When(definitions, mapper, "gadgets.example.org",
		func(context.Context) ([]reconcile.Request, error) {
			started++
			starts <- started
			if started <= failures {
				return nil, errors.New("the API server does not answer")
			}
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "first"}}}, nil
		})
	require.NoError(t, source.Start(t.Context(), queue))
	return informer, starts, queue
}

func TestAKindIsWatchedWhenItsDefinitionIsEstablished(t *testing.T) {
	informer, starts, queue := when(t, 0)
	informer.Add(definition("others.example.org", apiextensionsv1.ConditionTrue))
	informer.Add(definition("gadgets.example.org", apiextensionsv1.ConditionFalse))
	select {
	case <-starts:
		t.Fatal("a kind is watched that is not established")
	case <-time.After(50 * time.Millisecond):
	}
	established := definition("gadgets.example.org", apiextensionsv1.ConditionTrue)
	informer.Update(definition("gadgets.example.org", apiextensionsv1.ConditionFalse), established)
	informer.Update(established, established)
	request, _ := queue.Get()
	assert.Equal(t, "first", request.Name, "the controller looks at %v", request)
	assert.Len(t, starts, 1, "it was started %d times", len(starts))
}

func TestAStartThatFailsIsTriedAgain(t *testing.T) {
	informer, starts, queue := when(t, 2)
	informer.Add(definition("gadgets.example.org", apiextensionsv1.ConditionTrue))
	request, _ := queue.Get()
	assert.Equal(t, "first", request.Name, "the controller looks at %v", request)
	assert.Len(t, starts, 3, "it was started %d times, and two of them failed", len(starts))
}
