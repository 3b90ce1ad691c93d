package live

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Reasons says why gangs of a namespace wait, a line for each, for the report of a failure.
func (c *Cluster) Reasons(ctx context.Context, namespace string) string {
	var groups schedulingv2alpha2.PodGroupList
	if err := c.List(ctx, &groups, client.InNamespace(namespace)); err != nil {
		return fmt.Sprintf("listing PodGroups: %v\n", err)
	}
	var lines strings.Builder
	for _, group := range groups.Items {
		scheduled := meta.FindStatusCondition(group.Status.Conditions, schedulingv2alpha2.ConditionScheduled)
		switch {
		case scheduled == nil:
			fmt.Fprintf(&lines, "PodGroup %s/%s: not judged yet\n", namespace, group.Name)
		case scheduled.Status != metav1.ConditionTrue:
			fmt.Fprintf(&lines, "PodGroup %s/%s: %s: %s\n", namespace, group.Name, scheduled.Reason, scheduled.Message)
		}
	}
	return lines.String()
}
