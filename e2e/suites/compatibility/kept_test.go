package compatibility_test

import (
	"context"
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/definitions"
)

// namespace of the workloads of every release.
const namespace = "kept"

// builtIn are the kinds of Kubernetes itself that workloads consist of. Tokens are left out: their key is gone with
// the cluster.
var builtIn = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// ours are our kinds, each in the version in which it is stored.
func ours() (kinds []schema.GroupVersionKind, err error) {
	all, err := definitions.All()
	for _, definition := range all {
		for _, version := range definition.Spec.Versions {
			if version.Storage {
				kinds = append(kinds, schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name,
					Kind: definition.Spec.Names.Kind})
			}
		}
	}
	return kinds, err
}

// kept reads what an upgrade has to keep: all objects of our kinds, and the built-in ones of the namespace.
func kept(ctx context.Context, cluster client.Reader) ([]*unstructured.Unstructured, error) {
	kinds, err := ours()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, kind := range append(kinds, builtIn...) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := cluster.List(ctx, list); meta.IsNoMatchError(err) {
			continue // A kind that an older release did not define.
		} else if err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			if object := &list.Items[i]; object.GetNamespace() == namespace || object.GetNamespace() == "" {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// storageKey is the key of an object in an API server's etcd, under the default prefix. Groups of Kubernetes itself are
// not in it.
func storageKey(of schema.GroupVersionResource, namespace, name string) string {
	folder := path.Join(of.Group, of.Resource)
	if !strings.Contains(of.Group, ".") || strings.HasSuffix(of.Group, ".k8s.io") {
		folder = of.Resource
	}
	if folder == "services" {
		folder = "services/specs"
	}
	return path.Join("/registry", folder, namespace, name)
}
