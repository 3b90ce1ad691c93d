package podgroupstatus

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// Natives are the PodGroups and CompositePodGroups of Kubernetes that gangs stand for.
type Natives struct {
	// Groups returns the groups of a gang.
	Groups func(gang.Key) []*nativegroups.Group
	Client dynamic.Interface
}

// publishGroups writes the condition of each group of a native gang where it says something else, and nothing beside
// the condition.
func (w *Writer) publishGroups(ctx context.Context, observed Observed, scheduled metav1.Condition) error {
	for _, group := range w.Natives.Groups(observed.Gang.Key()) {
		condition := group.Condition(ofGroup(observed.Gang, group.Ref(), scheduled))
		if condition == nil {
			continue
		}
		body, err := json.Marshal(map[string]any{
			"apiVersion": group.APIVersion, "kind": group.Kind,
			"metadata": map[string]any{"namespace": group.Namespace, "name": group.Name, "uid": group.UID},
			"status":   map[string]any{"conditions": []metav1.Condition{*condition}},
		})
		if err != nil {
			return fmt.Errorf("encoding status: %w", err)
		}
		_, err = w.Natives.Client.Resource(nativegroups.ResourceOf(group.GroupVersionKind())).
			Namespace(group.Namespace).Patch(ctx, group.Name, types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: fieldOwner, Force: new(true)}, "status")
		if err != nil {
			return fmt.Errorf("applying the status of %s %s: %w", group.Kind, group.Name, err)
		}
	}
	return nil
}

// ofGroup is the condition of a group of a gang: whether it has its own minimum, or else why the gang waits. One that a
// placed gang does without waits.
func ofGroup(of *gang.Gang, ref nativegroups.Ref, whole metav1.Condition) metav1.Condition {
	if of.Tree == nil || ref.GangName() == of.PodGroup.Name {
		return whole
	}
	group, standing := of.Tree.Group(ref.SubGroup()), of.StandingPods()
	own := metav1.Condition{Status: metav1.ConditionTrue, LastTransitionTime: whole.LastTransitionTime}
	switch {
	case group != nil && group.Satisfied(func(leaf *podgrouptree.Group) int { return standing[leaf.Name] }):
		return own
	case whole.Status == metav1.ConditionTrue:
		own.Status, own.Reason = metav1.ConditionFalse, scheduling.ReasonWaiting
		return own
	default:
		return whole
	}
}
