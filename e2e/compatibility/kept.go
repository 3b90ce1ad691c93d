package compatibility

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/definitions"
)

// Namespace of the workloads of every release.
const Namespace = "kept"

// builtIn are the kinds of Kubernetes itself that workloads consist of. Tokens are left out: their key is gone with
// the cluster.
var builtIn = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// Kept reads what an upgrade has to keep: all objects of our kinds, in the version in which they are stored, and the
// built-in ones of the namespace.
func Kept(ctx context.Context, cluster client.Reader) ([]*unstructured.Unstructured, error) {
	ours, err := Stored()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, kind := range append(ours, builtIn...) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := cluster.List(ctx, list); meta.IsNoMatchError(err) {
			continue // A kind that an older release did not define.
		} else if err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			if object.GetNamespace() == Namespace || object.GetNamespace() == "" {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// Stored are our kinds, each in its storage version.
func Stored() ([]schema.GroupVersionKind, error) {
	all, err := definitions.All()
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionKind
	for _, definition := range all {
		for _, version := range definition.Spec.Versions {
			if version.Storage {
				kinds = append(kinds,
					schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name,
						Kind: definition.Spec.Names.Kind})
			}
		}
	}
	return kinds, nil
}
