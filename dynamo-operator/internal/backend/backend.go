// Package backend says what a framework has to offer that carries deployments out. The packages that handle deployments
// know nothing else of a framework.
package backend

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// FieldOwner is the field manager of everything that the operator writes.
const FieldOwner = "dynamo-operator"

// Backend carries deployments out.
type Backend interface {
	// Read returns the objects of a deployment that exist in the cluster.
	Read(context.Context, *v1beta1.DynamoGraphDeployment) (Standing, error)
	// Owned are the kinds, present in every cluster, of the objects that Standing.Objects returns. Each object bears
	// the deployment's label.
	Owned() []client.Object
	// Installed are kinds that have to be installed: first the ones that every deployment needs, then the ones that
	// only some ask for.
	Installed() []Installed
	// DeploymentOf returns the deployment that an object of one of the framework's parts belongs to, if it belongs to
	// any.
	DeploymentOf(ctx context.Context, part client.Object) (types.NamespacedName, bool)
}

// Installed are kinds that are installed together, possibly after the operator has started.
type Installed struct {
	// Definition is the name of the CustomResourceDefinition that stands for them.
	Definition string
	// Missing says that they are not installed, and what to do.
	Missing string
	// Owned are the kinds of the objects that Standing.Objects returns. Parts are the kinds that are made from these
	// in turn, as far as an observation reads them.
	Owned, Parts []client.Object
}

// Standing are the objects of a deployment that exist in the cluster, and the changes that they need.
type Standing interface {
	// Observation summarizes the objects that exist.
	Observation() Observation
	// Objects returns all objects that are to exist, owned by the deployment, in the order of their creation. The pods
	// of the named components are made by the restart that the spec asks for.
	Objects(restarted []string) ([]client.Object, error)
	// Leftovers returns the live objects that the deployment no longer needs, given the wanted ones.
	Leftovers(wanted []client.Object) []client.Object
	// Scalings returns the live objects that need another number of replicas, with the new number.
	Scalings() []Scaling
	// Reports returns live adapters with their new status.
	Reports(now metav1.Time) []Report
}

// Report is a live adapter, with its new status.
type Report struct {
	Adapter *v1alpha1.DynamoGraphDeploymentScalingAdapter
	Status  v1alpha1.DynamoGraphDeploymentScalingAdapterStatus
}

// Scaling is a live object, with its new number of replicas.
type Scaling struct {
	Object   client.Object
	Replicas int32
}
