package docs_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	dynamo "packtree.dev/shared/api/dynamo/v1beta1"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var (
	// wideKinds are cluster-scoped, and a page may create some.
	wideKinds = []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Namespace"), corev1.SchemeGroupVersion.WithKind("Node"),
		schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"),
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "ClusterQueue"},
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "ResourceFlavor"},
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "AdmissionCheck"},
		grove.GroupVersion.WithKind("ClusterTopology"), kai.SchemeGroupVersion.WithKind("Topology"),
	}
	// workloadKinds are those of the workloads in the namespace of the pages, owners before their dependents.
	workloadKinds = []schema.GroupVersionKind{
		dynamo.GroupVersion.WithKind("DynamoGraphDeployment"), grove.GroupVersion.WithKind("PodCliqueSet"),
		batchv1.SchemeGroupVersion.WithKind("Job"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		scheduling.SchemeGroupVersion.WithKind("PodGroup"), corev1.SchemeGroupVersion.WithKind("Pod"),
		{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "LocalQueue"},
	}
)

// tidier deletes the objects of a page.
type tidier struct {
	cluster *live.Cluster
}

// objects are those of a kind. Our own kinds may not be installed.
func (d tidier) objects(ctx context.Context, kind schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := d.cluster.List(ctx, list, client.InNamespace(metav1.NamespaceDefault))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list.Items, err
}

// wide are the cluster-scoped objects.
func (d tidier) wide(t *testing.T) map[types.UID]bool {
	t.Helper()
	all := map[types.UID]bool{}
	for _, kind := range wideKinds {
		objects, err := d.objects(t.Context(), kind)
		if err != nil {
			t.Fatalf("listing %s: %v", kind.Kind, err)
		}
		for i := range objects {
			all[objects[i].UID] = true
		}
	}
	return all
}

// tidies deletes the workloads in the namespace of the page, which is the default one, and then cluster-scoped objects
// that did not exist before.
func (d tidier) tidies(t *testing.T, before map[types.UID]bool) {
	t.Helper()
	for _, kind := range workloadKinds {
		d.removes(t, kind, nil)
	}
	for _, kind := range wideKinds {
		d.removes(t, kind, before)
	}
}

// removes deletes the objects of a kind, except some, and waits until they are gone.
func (d tidier) removes(t *testing.T, kind schema.GroupVersionKind, but map[types.UID]bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := live.Wait(ctx, "objects of kind "+kind.Kind+" are removed", func(ctx context.Context) (bool, string, error) {
		objects, err := d.objects(ctx, kind)
		if err != nil {
			return false, "", err
		}
		left := 0
		for i := range objects {
			object := &objects[i]
			if but[object.UID] {
				continue
			}
			left++
			if object.DeletionTimestamp != nil {
				continue
			}
			if err := d.cluster.Delete(ctx, object,
				client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
				return false, "", err
			}
		}
		return left == 0, fmt.Sprintf("%d are left", left), nil
	})
	if err != nil {
		t.Errorf("tidying up: %v", err)
	}
}
