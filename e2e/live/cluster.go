// Package live lets the demo and the suites act on a running cluster as a user does: apply, look, wait, delete.
package live

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/placement"
	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
	dynamov1beta1 "packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

// user is the field owner of Apply, as with kubectl.
const user = client.FieldOwner("packtree-user")

// Cluster is a running cluster with Packtree in it.
type Cluster struct {
	client.Client
}

// Connect makes a client for all kinds of the examples and their children. Unknown fields in writes are errors.
// Requests without an answer are repeated. It sends at most 200 a second, unless the configuration has another rate.
func Connect(config *rest.Config) (*Cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, grovev1alpha1.AddToScheme, grovescheduler.AddToScheme, kaiv1alpha1.AddToScheme,
		schedulingv2alpha2.AddToScheme, dynamov1alpha1.AddToScheme, dynamov1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS, config.Burst = 200, 400
	}
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return patient{transport} })
	plain, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	return &Cluster{Client: client.WithFieldValidation(plain, metav1.FieldValidationStrict)}, nil
}

// Apply writes objects by server-side apply, in order.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		configuration := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.Client.Apply(ctx, configuration, user, client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s: %w", Name(object), err)
		}
	}
	return nil
}

// Remove deletes objects with all their dependents, last first, and ignores objects that are gone.
func (c *Cluster) Remove(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for i := len(objects) - 1; i >= 0; i-- {
		err := c.Delete(ctx, objects[i].DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", Name(objects[i]), err)
		}
	}
	return nil
}

// Gone reports whether none of the objects exists any more.
func (c *Cluster) Gone(ctx context.Context, objects ...*unstructured.Unstructured) (bool, error) {
	for _, object := range objects {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy())
		if !apierrors.IsNotFound(err) {
			return false, err
		}
	}
	return true, nil
}

// Standing are the present pods and nodes.
type Standing struct {
	Pods  []corev1.Pod
	Nodes []corev1.Node
}

// Standing reads the pods of a namespace and all nodes.
func (c *Cluster) Standing(ctx context.Context, namespace string) (Standing, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return Standing{}, fmt.Errorf("listing pods: %w", err)
	}
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return Standing{}, fmt.Errorf("listing nodes: %w", err)
	}
	return Standing{Pods: pods.Items, Nodes: nodes.Items}, nil
}

// Topologies reads the topologies of the cluster.
func (c *Cluster) Topologies(ctx context.Context) (placement.Topologies, error) {
	topologies := placement.Topologies{}
	var ofGrove grovev1alpha1.ClusterTopologyList
	if err := c.List(ctx, &ofGrove); err != nil {
		return nil, fmt.Errorf("listing ClusterTopologies: %w", err)
	}
	for i := range ofGrove.Items {
		topologies.AddClusterTopology(&ofGrove.Items[i])
	}
	var ofScheduler kaiv1alpha1.TopologyList
	if err := c.List(ctx, &ofScheduler); err != nil {
		return nil, fmt.Errorf("listing Topologies: %w", err)
	}
	for i := range ofScheduler.Items {
		topologies.AddTopology(&ofScheduler.Items[i])
	}
	return topologies, nil
}

// DefaultTopologyMade checks whether grove-operator has made the topology of its configuration. Until then constraints
// that name no topology are refused.
func (c *Cluster) DefaultTopologyMade(ctx context.Context) (bool, string, error) {
	topologies, err := c.Topologies(ctx)
	if err != nil {
		return false, "", err
	}
	if _, made := topologies[placement.DefaultTopology]; !made {
		return false, "no ClusterTopology " + placement.DefaultTopology, nil
	}
	return true, "", nil
}

// Condition reads one condition of an object; nil if the object does not have it.
func (c *Cluster) Condition(
	ctx context.Context, object *unstructured.Unstructured, condition string,
) (*metav1.Condition, error) {
	read := object.DeepCopy()
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), read); err != nil {
		return nil, fmt.Errorf("reading %s: %w", Name(object), err)
	}
	return ConditionOf(read, condition)
}

// ConditionOf is a condition of an object that was read; nil if the object does not have it.
func ConditionOf(object *unstructured.Unstructured, condition string) (*metav1.Condition, error) {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &status); err != nil {
		return nil, fmt.Errorf("reading the conditions of %s: %w", Name(object), err)
	}
	return meta.FindStatusCondition(status.Status.Conditions, condition), nil
}

// Name is an object's kind and name for people.
func Name(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if object.GetNamespace() == "" {
		return kind + " " + object.GetName()
	}
	return kind + " " + object.GetNamespace() + "/" + object.GetName()
}
