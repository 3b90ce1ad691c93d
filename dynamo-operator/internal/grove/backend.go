package grove

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Backend carries deployments out on Grove.
type Backend struct {
	// Reader reads the cluster, through a cache.
	Reader client.Reader
}

var _ backend.Backend = Backend{}

// Owned are the kinds of what Translate returns.
func (Backend) Owned() []client.Object {
	return []client.Object{
		&corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.ServiceAccount{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
		&grovev1alpha1.PodCliqueSet{},
	}
}

// Parts are what Grove makes of a PodCliqueSet.
func (Backend) Parts() []client.Object {
	return []client.Object{&grovev1alpha1.PodClique{}, &grovev1alpha1.PodCliqueScalingGroup{}}
}

// DeploymentOf finds the deployment of a part by way of its PodCliqueSet.
func (b Backend) DeploymentOf(ctx context.Context, part client.Object) (types.NamespacedName, bool) {
	key := types.NamespacedName{Namespace: part.GetNamespace(), Name: part.GetLabels()[grovev1alpha1.LabelPartOf]}
	set := &grovev1alpha1.PodCliqueSet{}
	if key.Name == "" || b.Reader.Get(ctx, key, set) != nil {
		return types.NamespacedName{}, false
	}
	owner := metav1.GetControllerOf(set)
	if owner == nil || owner.Kind != "DynamoGraphDeployment" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: key.Namespace, Name: owner.Name}, true
}

// Read returns what of a deployment stands in the cluster.
func (b Backend) Read(ctx context.Context, deployment *v1beta1.DynamoGraphDeployment) (backend.Standing, error) {
	reader := b.Reader
	standing := Standing{
		Deployment: deployment,
		Cliques:    map[string]*grovev1alpha1.PodClique{},
		Groups:     map[string]*grovev1alpha1.PodCliqueScalingGroup{},
	}
	set, err := get(ctx, reader, deployment.Namespace, names.PodCliqueSet(deployment), &grovev1alpha1.PodCliqueSet{})
	if err != nil {
		return nil, err
	}
	if set == nil || !metav1.IsControlledBy(set, deployment) {
		return standing, nil
	}
	standing.PodCliqueSet = set
	for i := range deployment.Spec.Components {
		component := &deployment.Spec.Components[i]
		name := scaledName(deployment, component)
		if component.Multinode != nil {
			standing.Groups[component.Name], err = get(ctx, reader, deployment.Namespace, name, &grovev1alpha1.PodCliqueScalingGroup{})
		} else {
			standing.Cliques[component.Name], err = get(ctx, reader, deployment.Namespace, name, &grovev1alpha1.PodClique{})
		}
		if err != nil {
			return nil, err
		}
	}
	return standing, nil
}

// get reads an object into the given one; nil without error if it does not exist.
func get[T client.Object](ctx context.Context, reader client.Reader, namespace, name string, object T) (T, error) {
	var none T
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("reading %T %s: %w", object, name, err)
	}
	return object, nil
}
