package termination

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
)

// Kinds of the objects of a unit.
const (
	KindPodClique    = "PodClique"
	KindScalingGroup = "PodCliqueScalingGroup"
)

// defaultDelay is for sets that were stored before the field had a default; the schema has the same.
const defaultDelay = 4 * time.Hour

// Delay is how long a gang of a set may stay below a minimum; 0 means for ever.
func Delay(set *grovev1alpha1.PodCliqueSet) time.Duration {
	if delay := set.Spec.Template.TerminationDelay; delay != nil {
		return delay.Duration
	}
	return defaultDelay
}

// Updating reports whether an update of a set is running, or about to begin. With OnDelete the user replaces pods at
// any time, and gangs are terminated as usual.
func Updating(set *grovev1alpha1.PodCliqueSet) bool {
	return rollout.StrategyOf(set) != grovev1alpha1.OnDelete && rollout.UnderWay(set)
}

// Ready returns how many pods of a PodClique are ready.
type Ready func(podClique *grovev1alpha1.PodClique) int32

// Replica is one replica of a set with its standalone PodCliques and its PodCliqueScalingGroups, by name.
func Replica(
	set *grovev1alpha1.PodCliqueSet, replica int32,
	podCliques map[string]*grovev1alpha1.PodClique, groups map[string]*grovev1alpha1.PodCliqueScalingGroup,
) Unit {
	unit := Unit{Index: replica}
	for _, member := range layout.Standalone(set, replica) {
		if podClique := podCliques[member.Name]; podClique != nil {
			unit.add(ofPodClique(podClique), podClique.Generation, podClique.Status.ObservedGeneration,
				podClique.Status.Conditions)
		}
	}
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		group := groups[layout.ScalingGroup(set.Name, replica, set.Spec.Template.PodCliqueScalingGroups[i].Name)]
		if group != nil {
			unit.add(ofGroup(group), group.Generation, group.Status.ObservedGeneration, group.Status.Conditions)
		}
	}
	return unit
}

// Copies are the copies of a scaling group. None is in breach on its own if the group does not keep its minimum.
func Copies(group *grovev1alpha1.PodCliqueScalingGroup, podCliques []*grovev1alpha1.PodClique, ready Ready) []Unit {
	units := make([]Unit, layout.Bounded(group.Spec.Replicas))
	for i := range units {
		units[i].Index = int32(i)
	}
	kept := KeepsMinimum(group, podCliques, ready)
	for _, podClique := range podCliques {
		copyIndex, ok := layout.CopyOf(podClique)
		if !ok || int(copyIndex) >= len(units) {
			continue
		}
		var conditions []metav1.Condition
		if kept {
			conditions = podClique.Status.Conditions
		}
		units[copyIndex].add(ofPodClique(podClique), podClique.Generation,
			podClique.Status.ObservedGeneration, conditions)
	}
	return units
}

// KeepsMinimum reports whether a scaling group has as many available copies as it needs.
func KeepsMinimum(group *grovev1alpha1.PodCliqueScalingGroup, podCliques []*grovev1alpha1.PodClique, ready Ready) bool {
	standing := map[int32]int{}
	for _, podClique := range podCliques {
		if copyIndex, ok := layout.CopyOf(podClique); ok && copyIndex < group.Spec.Replicas &&
			HasMinimum(podClique, ready) {
			standing[copyIndex]++
		}
	}
	var available int32
	for _, cliques := range standing {
		if cliques >= len(group.Spec.CliqueNames) {
			available++
		}
	}
	return available >= status.GroupMinimum(group)
}

// HasMinimum reports whether a PodClique stays and has as many ready pods as it needs.
func HasMinimum(podClique *grovev1alpha1.PodClique, ready Ready) bool {
	return podClique.DeletionTimestamp == nil && ready(podClique) >= status.Minimum(podClique)
}

// add adds an object, and its breach if its condition has one. A condition about an older spec does not count.
func (u *Unit) add(object Object, generation, observed int64, conditions []metav1.Condition) {
	u.Objects = append(u.Objects, object)
	condition := meta.FindStatusCondition(conditions, grovev1alpha1.ConditionMinAvailableBreached)
	if object.Going || generation != observed || condition == nil || condition.Status != metav1.ConditionTrue {
		return
	}
	// The time is that of the second in which the breach began.
	since := condition.LastTransitionTime.Add(time.Second)
	u.Breaches = append(u.Breaches, Breach{What: object.Kind + " " + object.Name, Since: since})
}

// Without returns the breaches of a unit except those of objects that have recovered.
func (u *Unit) Without(recovered func(kind, name string) bool) []Breach {
	return slices.DeleteFunc(slices.Clone(u.Breaches), func(breach Breach) bool {
		return slices.ContainsFunc(u.Objects, func(object Object) bool {
			return object.Kind+" "+object.Name == breach.What && recovered(object.Kind, object.Name)
		})
	})
}

func ofPodClique(podClique *grovev1alpha1.PodClique) Object {
	return object(KindPodClique, podClique, podClique.Spec.Replicas)
}

func ofGroup(group *grovev1alpha1.PodCliqueScalingGroup) Object {
	return object(KindScalingGroup, group, group.Spec.Replicas)
}

func object(kind string, live client.Object, replicas int32) Object {
	return Object{
		Kind: kind, Name: live.GetName(), UID: live.GetUID(), Going: live.GetDeletionTimestamp() != nil,
		Replicas: replicas, TemplateReplicas: live.GetAnnotations()[grovev1alpha1.AnnotationTemplateReplicas],
	}
}
