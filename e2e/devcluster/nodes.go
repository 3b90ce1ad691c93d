package devcluster

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// perNodes is the additional time for nodes.
func (o Options) perNodes() time.Duration {
	return time.Duration(len(o.Nodes)) * 50 * time.Millisecond
}

func (c *controlPlane) createNodes(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, node := range c.Nodes {
		group.Go(func() error {
			if _, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("creating node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// awaitNodes waits until pods can be bound to every node: the kubelet has reported, and the controller that taints
// nodes without a report has seen that.
func (c *controlPlane) awaitNodes(ctx context.Context) error {
	err := poll(ctx, patience+c.perNodes(), func() error {
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		if ready := countReady(nodes.Items); ready < len(c.Nodes) {
			return fmt.Errorf("%d of %d nodes are ready", ready, len(c.Nodes))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("waiting for nodes: %w", err)
	}
	c.say("%d nodes are ready", len(c.Nodes))
	return nil
}

func countReady(nodes []corev1.Node) int {
	count := 0
	for _, node := range nodes {
		if ready(node) {
			count++
		}
	}
	return count
}

func ready(node corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaitServiceAccount waits for the service account that a controller makes, and that pods without one of their own
// need.
func (c *controlPlane) awaitServiceAccount(ctx context.Context) error {
	err := poll(ctx, patience, func() error {
		_, err := c.client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("waiting for kube-controller-manager to make service accounts: %w", err)
	}
	return err
}
