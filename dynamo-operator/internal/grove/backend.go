package grove

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Backend carries deployments out on Grove.
type Backend struct {
	// Reader reads the cluster, through a cache.
	Reader client.Reader
	// Topologies reads ClusterTopologies and ClusterTopologyBindings, which are in no cache.
	Topologies client.Reader
	// Mapper knows which kinds the cluster has.
	Mapper meta.RESTMapper
	// Infrastructure has the addresses that the pods get.
	Infrastructure pods.Infrastructure
	// Version of the operator.
	Version string
}

var _ backend.Backend = Backend{}

// definition is the name of the CustomResourceDefinition that Grove cannot be without.
const definition = "podcliquesets." + grovev1alpha1.GroupName

const missing = "Grove is not installed in this cluster: " + install

// Owned are the kinds of the objects that Translate returns beside the PodCliqueSet.
func (Backend) Owned() []client.Object {
	return []client.Object{
		&corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{},
		&rbacv1.Role{},
		&rbacv1.RoleBinding{},
	}
}

// Installed are Grove, and the scaling adapters: a cluster that has been upgraded may lack their kind.
func (Backend) Installed() []backend.Installed {
	return []backend.Installed{
		{
			Definition: definition,
			Missing:    missing,
			Owned:      []client.Object{&grovev1alpha1.PodCliqueSet{}},
			Parts:      []client.Object{&grovev1alpha1.PodClique{}, &grovev1alpha1.PodCliqueScalingGroup{}},
		},
		{Definition: adapterDefinition, Missing: adapterMissing, Owned: []client.Object{&Adapter{}}},
	}
}

// Slim transforms objects before they are cached. Of Grove's objects it keeps the fields that Read uses. Of a
// PodCliqueSet that no deployment has made it keeps only that it exists; of a PodClique it drops the pod spec.
func Slim(object any) (any, error) {
	switch object := object.(type) {
	case *grovev1alpha1.PodCliqueSet:
		if object.Labels[v1beta1.LabelDeploymentName] == "" {
			object.Spec, object.Status = grovev1alpha1.PodCliqueSetSpec{}, grovev1alpha1.PodCliqueSetStatus{}
		}
	case *grovev1alpha1.PodClique:
		object.Spec.PodSpec = corev1.PodSpec{}
		// The annotation holds the whole template again.
		delete(object.Annotations, grovev1alpha1.AnnotationPodTemplate)
	}
	return cache.TransformStripManagedFields()(object)
}

// DeploymentOf finds the deployment of a part through its PodCliqueSet.
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

// Read returns the objects of a deployment that exist in the cluster.
func (b Backend) Read(ctx context.Context, deployment *v1beta1.DynamoGraphDeployment) (backend.Standing, error) {
	reader := b.Reader
	standing := Standing{
		Deployment: deployment,
		Options:    Options{Infrastructure: b.Infrastructure},
		Version:    b.Version,
		Cliques:    map[string]*grovev1alpha1.PodClique{},
		Groups:     map[string]*grovev1alpha1.PodCliqueScalingGroup{},
	}
	if pods.HasType(deployment, v1beta1.TypeEPP) {
		_, err := b.Mapper.RESTMapping(poolKind.GroupKind(), poolKind.Version)
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("looking for the kind InferencePool: %w", err)
		}
		standing.Options.Pools = err == nil
	}
	var err error
	standing.Adapters, err = standingAdapters(ctx, reader, deployment)
	standing.NoAdapters = meta.IsNoMatchError(err)
	if err != nil && !standing.NoAdapters {
		return nil, err
	}
	set, err := get(ctx, reader, deployment.Namespace, names.PodCliqueSet(deployment), &grovev1alpha1.PodCliqueSet{})
	if meta.IsNoMatchError(err) {
		standing.Uninstalled = true
		return standing, nil
	}
	if err != nil {
		return nil, err
	}
	if set != nil && metav1.IsControlledBy(set, deployment) {
		standing.PodCliqueSet = set
	}
	topologies := Cluster{Reader: b.Topologies}
	standing.Options.TransferLevel, err = topologies.transferLevel(ctx, deployment, standing.PodCliqueSet)
	if err != nil {
		return nil, err
	}
	if standing.PodCliqueSet == nil {
		return standing, nil
	}
	standing.Services, err = standingServices(ctx, reader, deployment)
	if err != nil {
		return nil, err
	}
	for _, component := range names.Units(deployment) {
		name := scaledName(deployment, component)
		if names.Grouped(component) {
			standing.Groups[component.Name], err = get(ctx, reader, deployment.Namespace, name,
				&grovev1alpha1.PodCliqueScalingGroup{})
		} else {
			standing.Cliques[component.Name], err = get(ctx, reader, deployment.Namespace, name,
				&grovev1alpha1.PodClique{})
		}
		if err != nil {
			return nil, err
		}
	}
	return standing, nil
}

// standingServices lists the Services that were made for a deployment.
func standingServices(
	ctx context.Context, reader client.Reader, deployment *v1beta1.DynamoGraphDeployment,
) ([]*corev1.Service, error) {
	list := &corev1.ServiceList{}
	labels := client.MatchingLabels{v1beta1.LabelDeploymentName: names.Deployment(deployment)}
	if err := reader.List(ctx, list, client.InNamespace(deployment.Namespace), labels,
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	var own []*corev1.Service
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], deployment) {
			own = append(own, &list.Items[i])
		}
	}
	return own, nil
}

// standingAdapters lists the adapters that were made for a deployment.
func standingAdapters(
	ctx context.Context, reader client.Reader, deployment *v1beta1.DynamoGraphDeployment,
) (map[string]*Adapter, error) {
	list := &v1alpha1.DynamoGraphDeploymentScalingAdapterList{}
	labels := client.MatchingLabels{v1beta1.LabelDeploymentName: names.Deployment(deployment)}
	if err := reader.List(ctx, list, client.InNamespace(deployment.Namespace), labels,
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing DynamoGraphDeploymentScalingAdapters: %w", err)
	}
	own := map[string]*Adapter{}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], deployment) {
			own[list.Items[i].Name] = &list.Items[i]
		}
	}
	return own, nil
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
