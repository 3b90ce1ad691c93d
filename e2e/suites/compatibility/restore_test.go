package compatibility_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
)

const controllerManager = "kube-controller-manager"

// restores writes the objects that a release stored, byte by byte: with their UIDs, generations, field managers and
// statuses. No controller runs meanwhile, since it would see pods before their owners.
func (i *installation) restores(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	i.forgets(ctx, t)
	i.must(ctx, t, i.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	i.until(ctx, t, "the namespace takes pods", i.NamespaceTakesPods(namespace))
	i.must(ctx, t, i.Machine.Stop(ctx, controllerManager))
	for _, object := range objects {
		mapping, err := i.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(),
			object.GroupVersionKind().Version)
		i.must(ctx, t, err)
		value, err := json.Marshal(object)
		i.must(ctx, t, err)
		i.must(ctx, t, i.Machine.Store(ctx, storageKey(mapping.Resource, object.GetNamespace(), object.GetName()), value))
	}
	wanted := memoryOf(objects)
	i.until(ctx, t, "the API server serves what was restored", func(ctx context.Context) (bool, string, error) {
		served, err := kept(ctx, i)
		difference := wanted.difference(memoryOf(served))
		return difference == "", difference, err
	})
	i.must(ctx, t, i.Machine.Start(ctx, controllerManager))
}

// forgets deletes the objects that the programs made by themselves while the cluster came up.
func (i *installation) forgets(ctx context.Context, t *testing.T) {
	t.Helper()
	made, err := kept(ctx, i)
	i.must(ctx, t, err)
	unheld := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for _, object := range made { // The garbage collector may be first where the owner of an object has gone.
		i.must(ctx, t, client.IgnoreNotFound(i.Patch(ctx, object, unheld)))
		i.must(ctx, t, client.IgnoreNotFound(i.Delete(ctx, object)))
	}
	i.until(ctx, t, "nothing is left of the installation before", func(ctx context.Context) (bool, string, error) {
		left, err := kept(ctx, i)
		return len(left) == 0, fmt.Sprintf("%d objects", len(left)), err
	})
}

// accepted changes each object as a user would, without a change of its meaning, as a dry run: if that fails, the user
// can do nothing with the object.
func (i *installation) accepted(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	tried := 0
	for _, stored := range objects {
		what := stored.GetKind() + " " + stored.GetName()
		i.until(ctx, t, what+" is tried", func(ctx context.Context) (bool, string, error) {
			err := i.touched(ctx, stored)
			if err != nil && (apierrors.IsConflict(err) || live.Unanswered(err.Error())) {
				return false, "", err // A controller has just changed it, or a webhook is slow.
			}
			if err != nil {
				t.Errorf("%s is refused as it was stored: %v", what, err)
			}
			return true, "", nil
		})
		tried++
	}
	if tried == 0 {
		t.Error("no object was tried")
	}
}

// touched replaces an object by itself with a further label, as a dry run.
func (i *installation) touched(ctx context.Context, stored *unstructured.Unstructured) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(stored.GroupVersionKind())
	if err := i.Get(ctx, client.ObjectKeyFromObject(stored), object); err != nil {
		return err
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["example.com/touched"] = "yes"
	object.SetLabels(labels)
	return i.Update(ctx, object, client.DryRunAll)
}
