package live

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GPU is the resource for which pods of the suites compete.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// FakeNode is a node that KWOK simulates, with plenty of everything, and so many GPUs. Its name is its hostname. It is
// ready from the start: half of the control plane's writes for a new node are about one that is not ready yet.
func FakeNode(name string, labels map[string]string, gpus int) *corev1.Node {
	offers := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("110"), GPU: *resource.NewQuantity(int64(gpus), resource.DecimalSI),
	}
	all := map[string]string{corev1.LabelHostname: name}
	maps.Copy(all, labels)
	now := metav1.Now()
	ready := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now,
		LastTransitionTime: now,
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: all},
		Status: corev1.NodeStatus{Capacity: offers, Allocatable: offers, Conditions: []corev1.NodeCondition{ready}},
	}
}

// NodesTakePods checks whether nodes are free of taints: new nodes are tainted until their kubelet has reported.
func (c *Cluster) NodesTakePods(labels map[string]string) Look {
	return func(ctx context.Context) (bool, string, error) {
		var nodes corev1.NodeList
		if err := c.List(ctx, &nodes, client.MatchingLabels(labels)); err != nil {
			return false, "", err
		}
		for i := range nodes.Items {
			if node := &nodes.Items[i]; len(node.Spec.Taints) > 0 || len(node.Status.Conditions) == 0 {
				return false, fmt.Sprintf("node %s has taints %v", node.Name, node.Spec.Taints), nil
			}
		}
		return true, "", nil
	}
}

// NamespaceTakesPods checks whether a namespace has the service account that pods without one of their own need.
func (c *Cluster) NamespaceTakesPods(name string) Look {
	return func(ctx context.Context) (bool, string, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
		if apierrors.IsNotFound(err) {
			return false, "it has no default service account", nil
		}
		return err == nil, "", err
	}
}
