package live

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
)

// Merge returns the cluster as it would be with the objects of asked applied. An object of the same kind, namespace and
// name is replaced and keeps its date. Pods of asked take the place of all pods that their gang has: a workload that is
// rendered again has its pods under other names. They get the priority of their PriorityClass, as admission would give
// it.
func (c *Cluster) Merge(asked *inventory.Inventory) *inventory.Inventory {
	merged := inventory.New()
	merged.Written = asked.Written
	merged.Nodes = replace(c.Nodes, asked.Nodes)
	merged.PodGroups = replace(c.PodGroups, asked.PodGroups)
	renewed := asked.Members()
	kept := slices.DeleteFunc(slices.Clone(c.Pods), func(pod *corev1.Pod) bool {
		key, member := gang.KeyOf(pod)
		return member && len(renewed[key]) > 0
	})
	merged.Pods = replace(kept, asked.Pods)
	for _, described := range []*inventory.Inventory{c.Inventory, asked} {
		maps.Copy(merged.Topologies, described.Topologies)
		for _, node := range described.Zones.Nodes() {
			merged.Zones.Set(node)
		}
	}
	for _, pod := range asked.Pods {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = c.priorityOf(pod)
		}
	}
	return merged
}

// replace keeps the order: what is live first, then what is new.
func replace[T metav1.Object](present, applied []T) []T {
	byKey := map[gang.Key]T{}
	for _, object := range applied {
		byKey[keyOf(object)] = object
	}
	merged := make([]T, 0, len(present)+len(applied))
	for _, object := range present {
		if replacement, ok := byKey[keyOf(object)]; ok {
			replacement.SetCreationTimestamp(object.GetCreationTimestamp())
			object = replacement
			delete(byKey, keyOf(object))
		}
		merged = append(merged, object)
	}
	for _, object := range applied {
		if _, isNew := byKey[keyOf(object)]; isNew {
			merged = append(merged, object)
		}
	}
	return merged
}

func keyOf(object metav1.Object) gang.Key {
	return gang.Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// priorityOf is that of the pod's class, or of the cluster's default class.
func (c *Cluster) priorityOf(pod *corev1.Pod) *int32 {
	var found *schedulingv1.PriorityClass
	for _, class := range c.Priorities {
		byName := pod.Spec.PriorityClassName != "" && class.Name == pod.Spec.PriorityClassName
		byDefault := pod.Spec.PriorityClassName == "" && class.GlobalDefault &&
			(found == nil || class.Value < found.Value)
		if byName || byDefault {
			found = class
		}
	}
	if found == nil {
		return nil
	}
	return &found.Value
}

// MissingPriorities names the PriorityClasses that the pods ask for and the cluster does not have, sorted.
func (c *Cluster) MissingPriorities(pods []*corev1.Pod) []string {
	missing := sets.New[string]()
	for _, pod := range pods {
		if pod.Spec.Priority == nil && pod.Spec.PriorityClassName != "" && c.priorityOf(pod) == nil {
			missing.Insert(pod.Spec.PriorityClassName)
		}
	}
	return sets.List(missing)
}
