package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"
)

// newWriter writes as the operator. The cache has all objects of the framework's kinds, and those objects of other
// kinds that bear a deployment's label.
func newWriter(cached client.Client, live client.Reader) apply.Writer {
	return apply.Writer{
		Client: cached, Live: live, FieldOwner: backend.FieldOwner, CompleteGroups: []string{grovev1alpha1.GroupName},
	}
}

// apply makes one object of a deployment as it is to be, and reports whether that changed it.
func (r *Reconciler) apply(
	ctx context.Context, deployment *v1beta1.DynamoGraphDeployment, object client.Object,
) (bool, error) {
	seen, err := r.seen(ctx, object)
	if err != nil {
		return false, err
	}
	keepExpanded(object, seen)
	changed, err := r.writer.Apply(ctx, object, seen)
	if changed {
		log.FromContext(ctx).Info("applied", "kind", object.GetObjectKind().GroupVersionKind().Kind, "name",
			object.GetName())
	}
	return changed, explained(deployment, err)
}

// keepExpanded keeps the size of a claim that was expanded: Kubernetes makes no claim smaller.
func keepExpanded(wanted, seen client.Object) {
	claim, is := wanted.(*corev1.PersistentVolumeClaim)
	existing, has := seen.(*corev1.PersistentVolumeClaim)
	if !is || !has {
		return
	}
	size := existing.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(claim.Spec.Resources.Requests[corev1.ResourceStorage]) > 0 {
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = size
	}
}

// seen returns an object as the cache has it; nil if the cache has none.
func (r *Reconciler) seen(ctx context.Context, wanted client.Object) (client.Object, error) {
	kind := wanted.GetObjectKind().GroupVersionKind()
	seen := r.empty(kind)
	err := r.client.Get(ctx, client.ObjectKeyFromObject(wanted), seen)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, wanted.GetName(), err)
	}
	return seen, nil
}

// empty is an object of a kind to read into. Kinds that others install may be missing, and are not cached.
func (r *Reconciler) empty(kind schema.GroupVersionKind) client.Object {
	if object, err := r.client.Scheme().New(kind); err == nil {
		return object.(client.Object)
	}
	unknown := &unstructured.Unstructured{}
	unknown.SetGroupVersionKind(kind)
	return unknown
}

// errLeftBehind says that an object of an earlier deployment with this name is not deleted yet. Its end brings the next
// pass.
var errLeftBehind = errors.New("waiting until that of the earlier deployment is gone")

// explained says what the deployment's user can do if a foreign object has the name.
func explained(deployment *v1beta1.DynamoGraphDeployment, err error) error {
	var foreign apply.ForeignError
	if !errors.As(err, &foreign) {
		return err
	}
	if holder := foreign.Holder; holder != nil && holder.Kind == "DynamoGraphDeployment" &&
		holder.Name == deployment.Name {
		return &apply.Error{Verb: apply.Applying, Kind: foreign.Kind, Name: foreign.Name, Cause: errLeftBehind}
	}
	return &nameTakenError{kind: foreign.Kind, name: foreign.Name}
}

// nameTakenError says that an object exists which does not belong to the deployment.
type nameTakenError struct{ kind, name string }

func (e *nameTakenError) Error() string {
	return fmt.Sprintf(
		"%s %q exists and does not belong to this deployment: delete it, or give the deployment another name",
		e.kind, e.name)
}
