package devcluster

import (
	"context"
	"fmt"
	"slices"
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

func countReady(nodes []corev1.Node) (count int) {
	for _, node := range nodes {
		untainted := !slices.ContainsFunc(node.Spec.Taints,
			func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeNotReady })
		if untainted && slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
		}) {
			count++
		}
	}
	return count
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
