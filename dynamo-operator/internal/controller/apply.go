package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/manifest"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// annotationManifest holds a hash of the manifest that was applied last. With it, a field that is no longer wanted is
// noticed without asking the API server.
const annotationManifest = "packtree.dev/manifest-hash"

// applier applies whole objects, but only where something differs.
type applier struct {
	client client.Client
	// live reads past the cache, which only holds what bears our label.
	live client.Reader
}

// apply brings one object of a deployment in line and reports whether it was different.
func (a applier) apply(ctx context.Context, deployment *v1beta1.DynamoGraphDeployment, object client.Object) (bool, error) {
	wanted, err := manifest.Of(object)
	if err != nil {
		return false, err
	}
	if err := sign(wanted); err != nil {
		return false, err
	}
	standing, err := a.standing(ctx, wanted)
	if err != nil {
		return false, err
	}
	if standing != nil {
		if err := belongs(standing, deployment, wanted.GetKind()); err != nil {
			return false, err
		}
		if same, err := manifest.Covers(standing, wanted); same || err != nil {
			return false, err
		}
	}
	log.FromContext(ctx).Info(applying, "kind", wanted.GetKind(), "name", wanted.GetName())
	err = a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(backend.FieldOwner), client.ForceOwnership)
	if err != nil {
		return false, &writeError{verb: applying, kind: wanted.GetKind(), name: wanted.GetName(), cause: err}
	}
	// The answer is what is stored. Where others write over us without an end, nothing may have changed.
	return standing == nil || wanted.GetResourceVersion() != standing.GetResourceVersion(), nil
}

// belongs returns why an object is not the deployment's. What an earlier deployment of the name has left is on its way
// out, and its end brings the next pass.
func belongs(standing client.Object, deployment *v1beta1.DynamoGraphDeployment, kind string) error {
	if metav1.IsControlledBy(standing, deployment) {
		return nil
	}
	owner := metav1.GetControllerOf(standing)
	if owner != nil && owner.Kind == "DynamoGraphDeployment" && owner.Name == deployment.Name {
		return &writeError{verb: applying, kind: kind, name: standing.GetName(), cause: errLeftBehind}
	}
	return &nameTakenError{kind: kind, name: standing.GetName()}
}

// standing returns the object as it stands; nil if it does not exist.
func (a applier) standing(ctx context.Context, wanted *unstructured.Unstructured) (client.Object, error) {
	for _, reader := range []client.Reader{a.client, a.live} {
		object, err := a.client.Scheme().New(wanted.GroupVersionKind())
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", wanted.GetKind(), err)
		}
		found := object.(client.Object)
		err = reader.Get(ctx, client.ObjectKeyFromObject(wanted), found)
		if err == nil {
			return found, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
		}
	}
	return nil, nil
}

func sign(wanted *unstructured.Unstructured) error {
	written, err := json.Marshal(wanted.Object)
	if err != nil {
		return fmt.Errorf("hashing manifest of %s: %w", wanted.GetKind(), err)
	}
	sum := sha256.Sum256(written)
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationManifest] = hex.EncodeToString(sum[:8])
	wanted.SetAnnotations(annotations)
	return nil
}

// errLeftBehind says that an earlier deployment of the name had an object, which is on its way out.
var errLeftBehind = errors.New("waiting until that of the earlier deployment is gone")

// What is done to an object.
const (
	applying = "applying"
	scaling  = "scaling"
	deleting = "deleting"
)

// writeError says that an object could not be written.
type writeError struct {
	verb, kind, name string
	cause            error
}

func (e *writeError) Error() string { return e.doing() + ": " + e.cause.Error() }

func (e *writeError) Unwrap() error { return e.cause }

func (e *writeError) doing() string { return fmt.Sprintf("%s %s %s", e.verb, e.kind, e.name) }

// nameTakenError says that an object exists which is not the deployment's.
type nameTakenError struct{ kind, name string }

func (e *nameTakenError) Error() string {
	return fmt.Sprintf("%s %q exists and does not belong to this deployment: delete it, or give the deployment another name", e.kind, e.name)
}
