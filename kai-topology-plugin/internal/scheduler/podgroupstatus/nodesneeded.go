package podgroupstatus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Adviser says with which nodes refused gangs would fit.
type Adviser interface {
	// About returns what is known for a refusal. If nothing is, it is looked for, and the gang enqueued then.
	About(key gang.Key, refusal string) Advice
	// Forget is for a gang that is not refused any more.
	Forget(key gang.Key)
}

// Advice is what is known of the nodes that a refused gang needs.
type Advice struct {
	// Known is set if they were looked for.
	Known bool
	// Nodes is nil if the gang would not fit with any number of nodes.
	Nodes *remedies.Nodes
}

// maxResources is how many resources of a node the annotation has at most.
const maxResources = 16

// needed is an element of the annotation.
type needed struct {
	Count     int                 `json:"count"`
	Like      string              `json:"like"`
	Resources corev1.ResourceList `json:"resources"`
	Level     string              `json:"level,omitempty"`
	Domain    map[string]string   `json:"domain,omitempty"`
}

// advise completes what is to be said of a gang by the nodes that it needs. What an earlier scheduler said of them
// stays until the gang is decided, and looked at, by this one.
func (w *Writer) advise(key gang.Key, observed Observed, desired *Desired) error {
	if w.Adviser == nil {
		return nil
	}
	if !refusedForGood(observed, desired.Condition) {
		w.Adviser.Forget(key)
		if observed.Last != nil || desired.Condition.Status == metav1.ConditionTrue {
			desired.NodesNeeded = new(string)
		}
		return nil
	}
	advice := w.Adviser.About(key, observed.Last.Message)
	if !advice.Known {
		return nil
	}
	desired.NodesNeeded = new(string)
	if advice.Nodes == nil {
		return nil
	}
	desired.Condition.Message = brief.Message(desired.Condition.Message + "; it would fit if you " + advice.Nodes.Change)
	value, err := json.Marshal([]needed{{
		Count: advice.Nodes.Count, Like: advice.Nodes.Like.Name, Level: advice.Nodes.Level, Domain: advice.Nodes.Domain,
		Resources: asked(observed.Gang, advice.Nodes.Like),
	}})
	if err != nil {
		return fmt.Errorf("encoding nodes: %w", err)
	}
	desired.NodesNeeded = new(string(value))
	return nil
}

// refusedForGood reports whether a gang waits because it does not fit, and nodes may be added for it. One that waits
// for pods to leave fits soon.
func refusedForGood(observed Observed, condition metav1.Condition) bool {
	return condition.Status != metav1.ConditionTrue && observed.Last != nil &&
		observed.Last.Verdict == scheduling.ReasonInfeasible &&
		(condition.Reason == scheduling.ReasonInfeasible || condition.Reason == scheduling.ReasonBelowMinimum) &&
		ptr.Deref(observed.Gang.PodGroup.Spec.MarkUnschedulable, true)
}

// asked is what a node offers of the resources that waiting pods of a gang ask for.
func asked(of *gang.Gang, node *corev1.Node) corev1.ResourceList {
	offered := corev1.ResourceList{}
	for _, pod := range of.Pending {
		for name := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if amount, ok := node.Status.Allocatable[name]; ok {
				offered[name] = amount
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(offered))[min(len(offered), maxResources):] {
		delete(offered, name)
	}
	return offered
}

// annotate writes which nodes a gang needs where its PodGroup says something else. An empty value removes it.
func (w *Writer) annotate(ctx context.Context, podGroup *scheduling.PodGroup, value *string) error {
	present, found := podGroup.Annotations[scheduling.AnnotationNodesNeeded]
	_, native := nativegroups.RefOf(podGroup.Namespace, podGroup.Name)
	if native || value == nil || *value == present && found == (*value != "") {
		return nil
	}
	if *value == "" {
		value = nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": podGroup.UID, "annotations": map[string]*string{scheduling.AnnotationNodesNeeded: value},
	}})
	if err != nil {
		return fmt.Errorf("encoding annotation: %w", err)
	}
	_, err = w.client.PodGroups(podGroup.Namespace).Patch(ctx, podGroup.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: fieldOwner})
	return err
}
