package live

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Explained checks whether a workload that cannot fit says so: none of its pods has a node, the scheduler has proved
// for one of its PodGroups that there is no place, and the Ready condition of the user's own object has that sentence.
func (c *Cluster) Explained(object *unstructured.Unstructured) Look {
	return func(ctx context.Context) (bool, string, error) {
		if state, err := c.nothingBound(ctx, object); err != nil || state != "" {
			return false, state, err
		}
		proof, err := c.proof(ctx, object)
		if err != nil || proof == "" {
			return false, "no PodGroup of " + Name(object) + " has the condition Scheduled with reason Infeasible", err
		}
		ready, err := c.Condition(ctx, object, "Ready")
		if err != nil || ready == nil {
			return false, Name(object) + " has no Ready condition", err
		}
		return ready.Status == metav1.ConditionFalse && strings.Contains(ready.Message, proof),
			fmt.Sprintf("it is Ready=%s: %q, and the scheduler says %q", ready.Status, ready.Message, proof), nil
	}
}

// nothingBound returns what is wrong: too few pods yet, or a pod on a node.
func (c *Cluster) nothingBound(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	workload, _, err := c.Workload(ctx, object)
	if err != nil {
		return "", err
	}
	standing, err := c.Standing(ctx, object.GetNamespace())
	if err != nil {
		return "", err
	}
	created := 0
	for i := range standing.Pods {
		pod := &standing.Pods[i]
		if !workload.Owns(pod) {
			continue
		}
		created++
		if pod.Spec.NodeName != "" {
			return fmt.Sprintf("%s: pod %s stands on %s, though its gang cannot", Name(object), pod.Name,
				pod.Spec.NodeName), nil
		}
	}
	if created < workload.Pods {
		return fmt.Sprintf("%s has %d of %d pods", Name(object), created, workload.Pods), nil
	}
	return "", nil
}

// proof is the scheduler's sentence in a PodGroup of the workload's pods; empty if there is none yet.
func (c *Cluster) proof(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	var groups schedulingv2alpha2.PodGroupList
	if err := c.List(ctx, &groups, client.InNamespace(object.GetNamespace())); err != nil {
		return "", fmt.Errorf("listing PodGroups: %w", err)
	}
	for _, group := range groups.Items {
		if !strings.HasPrefix(group.Name, object.GetName()+"-") {
			continue
		}
		for _, condition := range group.Status.Conditions {
			if condition.Type == schedulingv2alpha2.ConditionScheduled &&
				condition.Reason == schedulingv2alpha2.ReasonInfeasible {
				return condition.Message, nil
			}
		}
	}
	return "", nil
}
