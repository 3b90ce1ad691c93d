// Package backend says what a framework has to offer that carries deployments out. What a deployment is, and what is done
// about it, knows nothing else of a framework.
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
	// Read returns what of a deployment stands in the cluster.
	Read(context.Context, *v1beta1.DynamoGraphDeployment) (Standing, error)
	// Owned are the kinds that every cluster has of which Standing.Objects returns objects. Each object bears the deployment's label.
	Owned() []client.Object
	// Installed are the kinds that others install: first those that no deployment goes without, then those that only some ask for.
	Installed() []Installed
	// DeploymentOf returns the deployment that an object of one of the framework's parts belongs to, if it belongs to any.
	DeploymentOf(ctx context.Context, part client.Object) (types.NamespacedName, bool)
}

// Installed are kinds that are installed together. That may happen at any time.
type Installed struct {
	// Definition is the name of the CustomResourceDefinition that stands for them.
	Definition string
	// Missing says that they are not installed, and what to do.
	Missing string
	// Owned are the kinds of which Standing.Objects returns objects, and Parts those that are made of these in turn, as far
	// as an observation is about them.
	Owned, Parts []client.Object
}

// Standing is what of a deployment stands in the cluster, and what is to be done about it.
type Standing interface {
	// Observation says what stands.
	Observation() Observation
	// Objects returns everything that is to exist, owned by the deployment, in the order of its creation. The named
	// components are made by the restart that the spec asks for.
	Objects(restarted []string) ([]client.Object, error)
	// Leftovers returns the live objects that the deployment has no use for any more, beside those that are to exist.
	Leftovers(wanted []client.Object) []client.Object
	// Scalings returns the live objects that are to have another number of replicas than the framework gives them.
	Scalings() []Scaling
	// Reports returns live adapters with the status that they are to have.
	Reports(now metav1.Time) []Report
}

// Report is a live adapter, and the status that it is to have.
type Report struct {
	Adapter *v1alpha1.DynamoGraphDeploymentScalingAdapter
	Status  v1alpha1.DynamoGraphDeploymentScalingAdapterStatus
}

// Scaling is a live object that is to have another number of replicas.
type Scaling struct {
	Object   client.Object
	Replicas int32
}
