package controller_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/controller"
	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// unscaled sees one PodClique that needs three replicas, and one Service too many.
type unscaled struct{ grove.Backend }

func (unscaled) Read(_ context.Context, deployment *v1beta1.DynamoGraphDeployment) (backend.Standing, error) {
	return unscaledStanding{staleStanding{deployment: deployment}}, nil
}

type unscaledStanding struct{ staleStanding }

func (unscaledStanding) Scalings() []backend.Scaling {
	clique := &grovev1alpha1.PodClique{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: "components-0-frontend"}}
	return []backend.Scaling{{Object: clique, Replicas: 3}}
}

func (unscaledStanding) Objects([]string) ([]client.Object, error) { return nil, nil }

func (unscaledStanding) Reports(metav1.Time) []backend.Report { return nil }

func (unscaledStanding) Leftovers([]client.Object) []client.Object {
	return []client.Object{&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}}
}

// A test has no means to make a real API server refuse these.
func TestWhatCannotBeWrittenIsInTheStatus(t *testing.T) {
	cliques := schema.GroupResource{Group: grovev1alpha1.GroupName, Resource: "podcliques"}
	services := schema.GroupResource{Resource: "services"}
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(corev1.AddToScheme(scheme), v1beta1.AddToScheme(scheme),
		grovev1alpha1.AddToScheme(scheme)))
	for name, c := range map[string]struct {
		scale, remove   error
		reason, message string
	}{
		"a scale that a policy forbids": {
			scale:   apierrors.NewForbidden(cliques, "components-0-frontend", errors.New("at most two")),
			reason:  v1beta1.ReasonRejected,
			message: `scaling PodClique components-0-frontend: podcliques.grove.io "components-0-frontend" is forbidden: at most two`,
		},
		"a scale that comes to no answer": {
			scale: apierrors.NewInternalError(errors.New("down")), reason: v1beta1.ReasonNotYetWritten,
			message: "scaling PodClique components-0-frontend: Internal error occurred: down",
		},
		"a scale of what is gone, which is made anew": {
			scale: apierrors.NewNotFound(cliques, "components-0-frontend"), reason: v1beta1.ReasonNotYetObserved,
			message: "the objects of the deployment have not been observed since its last change",
		},
		"a Service that may not be deleted": {
			scale:  apierrors.NewNotFound(cliques, "components-0-frontend"),
			remove: apierrors.NewForbidden(services, "old", errors.New("kept")),
			reason: v1beta1.ReasonRejected, message: `deleting Service old: services "old" is forbidden: kept`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := &v1beta1.DynamoGraphDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
				Name: "components"}}
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).
				WithInterceptorFuncs(interceptor.Funcs{
					SubResourceUpdate: func(ctx context.Context, live client.Client, subresource string,
						object client.Object,
						options ...client.SubResourceUpdateOption) error {
						if subresource == "scale" {
							return c.scale
						}
						return live.SubResource(subresource).Update(ctx, object, options...)
					},
					Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
						return c.remove
					},
				}).Build()
			key := client.ObjectKey{Namespace: "default", Name: "components"}
			deployment := &v1beta1.DynamoGraphDeployment{}
			require.NoError(t, live.Get(t.Context(), key, deployment))
			_, err := controller.NewReconciler(live, unscaled{}).Reconcile(t.Context(), deployment)
			assert.Equal(t, c.reason != v1beta1.ReasonNotYetObserved, err != nil, "tried again because of %v", err)
			require.NoError(t, live.Get(t.Context(), key, deployment))
			ready := meta.FindStatusCondition(deployment.Status.Conditions, v1beta1.ConditionReady)
			require.NotNil(t, ready)
			assert.Equal(t, metav1.ConditionFalse, ready.Status)
			assert.Equal(t, c.reason, ready.Reason)
			assert.Equal(t, c.message, ready.Message)
		})
	}
}
