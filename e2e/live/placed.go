package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/placement"
)

// Workload is what a user asked for in an object, by the cluster's present topologies; false for an object that is no
// workload.
func (c *Cluster) Workload(ctx context.Context, object *unstructured.Unstructured) (placement.Workload, bool, error) {
	topologies, err := c.Topologies(ctx)
	if err != nil {
		return placement.Workload{}, false, err
	}
	return placement.Read(object, topologies)
}

// Runs checks whether all pods of a workload run.
func (c *Cluster) Runs(workload placement.Workload, namespace string) Look {
	return func(ctx context.Context) (bool, string, error) {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return false, "", fmt.Errorf("listing pods: %w", err)
		}
		running := workload.Running(pods.Items)
		return running >= workload.Pods, fmt.Sprintf("%d of %d pods run", running, workload.Pods), nil
	}
}

// Findings are the results for the constraints of a workload, by the labels of the nodes of its pods. A workload
// without constraints is an error, because a test of it could not fail.
func (c *Cluster) Findings(ctx context.Context, object *unstructured.Unstructured) ([]placement.Finding, error) {
	workload, is, err := c.Workload(ctx, object)
	if err != nil {
		return nil, err
	}
	standing, err := c.Standing(ctx, object.GetNamespace())
	if err != nil {
		return nil, err
	}
	findings := workload.Judge(standing.Pods, standing.Nodes)
	if !is || len(findings) == 0 {
		return nil, fmt.Errorf("%s claims nothing", Name(object))
	}
	return findings, nil
}
