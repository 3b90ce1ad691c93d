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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/compatibility"
)

const controllerManager = "kube-controller-manager"

// restores writes the objects that a release stored, byte by byte: with their UIDs, generations, field managers and
// statuses. No controller runs meanwhile, since it would see pods before their owners.
func (i *installation) restores(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	i.forgets(ctx, t)
	i.must(ctx, t, i.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: compatibility.Namespace}}))
	i.until(ctx, t, "the namespace takes pods", i.NamespaceTakesPods(compatibility.Namespace))
	i.must(ctx, t, i.Machine.Stop(ctx, controllerManager))
	for _, object := range objects {
		mapping, err := i.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(),
			object.GroupVersionKind().Version)
		i.must(ctx, t, err)
		value, err := json.Marshal(object)
		i.must(ctx, t, err)
		key := compatibility.StorageKey(mapping.Resource.Group, mapping.Resource.Resource, object.GetNamespace(),
			object.GetName())
		i.must(ctx, t, i.Machine.Store(ctx, key, value))
	}
	wanted := memoryOf(objects)
	i.until(ctx, t, "the API server serves what was restored", func(ctx context.Context) (bool, string, error) {
		served, err := compatibility.Kept(ctx, i)
		difference := wanted.difference(memoryOf(served))
		return difference == "", difference, err
	})
	i.must(ctx, t, i.Machine.Start(ctx, controllerManager))
}

// forgets deletes the objects that the programs made by themselves while the cluster came up.
func (i *installation) forgets(ctx context.Context, t *testing.T) {
	t.Helper()
	made, err := compatibility.Kept(ctx, i)
	i.must(ctx, t, err)
	for _, object := range made {
		object.SetFinalizers(nil)
		i.must(ctx, t, i.Update(ctx, object))
		i.must(ctx, t, client.IgnoreNotFound(i.Delete(ctx, object)))
	}
	i.until(ctx, t, "nothing is left of the installation before", func(ctx context.Context) (bool, string, error) {
		left, err := compatibility.Kept(ctx, i)
		return len(left) == 0, fmt.Sprintf("%d objects", len(left)), err
	})
}

// accepted changes each object as a user would, without a change of its meaning, as a dry run: if that fails, the user
// can do nothing with the object.
func (i *installation) accepted(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	tried := 0
	for _, stored := range objects {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(stored.GroupVersionKind())
		if err := i.Get(ctx, client.ObjectKeyFromObject(stored), object); apierrors.IsNotFound(err) {
			t.Errorf("%s %s is gone", stored.GetKind(), stored.GetName())
			continue
		} else if err != nil {
			t.Error(err)
			continue
		}
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["example.com/touched"] = "yes"
		object.SetLabels(labels)
		if err := i.Update(ctx, object, client.DryRunAll); err != nil {
			t.Errorf("%s %s is refused as it was stored: %v", stored.GetKind(), stored.GetName(), err)
		}
		tried++
	}
	if tried == 0 {
		t.Error("no object was tried")
	}
}
