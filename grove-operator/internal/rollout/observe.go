package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/status"
)

// Objects are the existing objects of a set, by name.
type Objects struct {
	Set *grovev1alpha1.PodCliqueSet
	// PodCliques are the standalone ones and those of the scaling groups.
	PodCliques    map[string]*grovev1alpha1.PodClique
	ScalingGroups map[string]*grovev1alpha1.PodCliqueScalingGroup
	// Gangs are the PodGangs; if unset, the scheduler's conditions are not read.
	Gangs map[string]*schedulerv1alpha1.PodGang
	// Pods are the pods by the name of their PodClique.
	Pods map[string][]*corev1.Pod
	// hashes are the hashes that current pods of a clique may have, by the clique's name.
	hashes map[string][]string
}

// Of returns the existing objects of a set.
func Of(
	set *grovev1alpha1.PodCliqueSet, podCliques map[string]*grovev1alpha1.PodClique,
	scalingGroups map[string]*grovev1alpha1.PodCliqueScalingGroup,
) Objects {
	hashes := map[string][]string{}
	for i := range set.Spec.Template.Cliques {
		clique := &set.Spec.Template.Cliques[i]
		hashes[clique.Name] = podtemplate.KnownHashes(set, clique)
	}
	return Objects{Set: set, PodCliques: podCliques, ScalingGroups: scalingGroups, hashes: hashes}
}

// Situation returns the inputs of a decision about the set's update.
func (o Objects) Situation(now time.Time) Situation {
	situation := Situation{
		Strategy: StrategyOf(o.Set), Before: o.Set.Status.UpdateProgress, Changed: Changed(o.Set), Now: now,
		States: o.States(), Replica: o.Replica, Surplus: o.surplus,
	}
	if strategy := o.Set.Spec.UpdateStrategy; strategy != nil {
		situation.MaxUnavailable = ptr.Deref(strategy.MaxUnavailable, 1)
	}
	return situation
}

// States returns the states of the set's replicas.
func (o Objects) States() []State {
	var states []State
	for replica := range layout.Replicas(o.Set) {
		state := State{Replica: replica, Scheduled: true, Available: true}
		for _, member := range layout.Standalone(o.Set, replica) {
			podClique := o.podClique(member.Name)
			o.count(&state, podClique, member)
			state.Scheduled = state.Scheduled && podClique != nil && status.Scheduled(podClique)
			state.Available = state.Available && podClique != nil && status.Available(podClique)
		}
		for i := range o.Set.Spec.Template.PodCliqueScalingGroups {
			o.addGroup(&state, &o.Set.Spec.Template.PodCliqueScalingGroups[i])
		}
		states = append(states, state)
	}
	return states
}

func (o Objects) addGroup(state *State, config *grovev1alpha1.PodCliqueScalingGroupConfig) {
	group := o.scalingGroup(state.Replica, config)
	if group == nil {
		state.Outdated, state.Scheduled, state.Available = true, false, false
		return
	}
	minimum := status.GroupMinimum(group)
	state.Scheduled = state.Scheduled && group.Status.ScheduledReplicas >= minimum
	state.Available = state.Available && group.Status.AvailableReplicas >= minimum
	for copyIndex := range layout.Bounded(group.Spec.Replicas) {
		for _, member := range layout.Copy(o.Set, state.Replica, config, copyIndex) {
			o.count(state, o.podClique(member.Name), member)
		}
	}
}

// surplus reports whether there are PodCliques that were scaled in and are not deleted yet.
func (o Objects) surplus() bool {
	for _, podClique := range o.PodCliques {
		if podClique.DeletionTimestamp == nil && !o.wanted(podClique) {
			return true
		}
	}
	return false
}

func (o Objects) wanted(podClique *grovev1alpha1.PodClique) bool {
	member, ok := layout.Find(o.Set, podClique)
	if !ok || member.Replica >= layout.Replicas(o.Set) {
		return false
	}
	if member.Group == nil {
		return true
	}
	group := o.scalingGroup(member.Replica, member.Group)
	return group != nil && member.Copy < layout.Bounded(group.Spec.Replicas)
}

// count adds a PodClique to the state of its replica, which is outdated if the PodClique has pods of another template
// than the set's current one, or may have some by its status.
func (o Objects) count(state *State, podClique *grovev1alpha1.PodClique, member layout.Member) {
	if podClique == nil {
		state.Outdated = true
		return
	}
	existing := o.podsOf(podClique)
	current := slices.DeleteFunc(slices.Clone(existing), func(pod *corev1.Pod) bool { return !o.prepared(pod, member) })
	state.Pods += podClique.Spec.Replicas
	state.Updated += min(int32(len(current)), podClique.Spec.Replicas)
	state.HasOld = state.HasOld || len(current) < len(existing)
	state.Outdated = state.Outdated || len(current) < len(existing) ||
		!o.prepared(podClique, member) || !status.Complete(podClique) && !refused(podClique) ||
		*podClique.Status.CurrentPodTemplateHash != podClique.Labels[grovev1alpha1.LabelPodTemplateHash]
}

// refused reports whether the pods that a PodClique lacks could not be created: only the existing ones can be
// updated.
func refused(podClique *grovev1alpha1.PodClique) bool {
	return podClique.Status.CurrentPodTemplateHash != nil && len(podClique.Status.LastErrors) > 0
}

// podsOf returns the active pods of a PodClique.
func (o Objects) podsOf(podClique *grovev1alpha1.PodClique) []*corev1.Pod {
	var active []*corev1.Pod
	for _, pod := range o.Pods[podClique.Name] {
		if pods.Active(pod) && metav1.IsControlledBy(pod, podClique) {
			active = append(active, pod)
		}
	}
	return active
}

// prepared reports whether a PodClique or a pod has the set's current template.
func (o Objects) prepared(object metav1.Object, member layout.Member) bool {
	return slices.Contains(o.hashes[member.Clique.Name], object.GetLabels()[grovev1alpha1.LabelPodTemplateHash])
}

// podClique returns a PodClique that is not being deleted; nil if there is none.
func (o Objects) podClique(name string) *grovev1alpha1.PodClique {
	if podClique := o.PodCliques[name]; podClique != nil && podClique.DeletionTimestamp == nil {
		return podClique
	}
	return nil
}

func (o Objects) scalingGroup(
	replica int32, config *grovev1alpha1.PodCliqueScalingGroupConfig,
) *grovev1alpha1.PodCliqueScalingGroup {
	group := o.ScalingGroups[layout.ScalingGroup(o.Set.Name, replica, config.Name)]
	if group == nil || group.DeletionTimestamp != nil {
		return nil
	}
	return group
}

// Replica returns a replica with its pods.
func (o Objects) Replica(replica int32) Replica {
	var observed Replica
	observed.Cliques, observed.Missing = o.cliques(layout.Standalone(o.Set, replica))
	for i := range o.Set.Spec.Template.PodCliqueScalingGroups {
		config := &o.Set.Spec.Template.PodCliqueScalingGroups[i]
		made := Group{
			Name:           layout.ScalingGroup(o.Set.Name, replica, config.Name),
			Template:       config.Name,
			MaxUnavailable: ptr.Deref(config.MaxUnavailable, 1),
			MaxSurge:       ptr.Deref(config.MaxSurge, 0),
		}
		if group := o.scalingGroup(replica, config); group != nil {
			made.Exists, made.Minimum = true, status.GroupMinimum(group)
			copies, replicas := Copies(o.Set, group), layout.Bounded(group.Spec.Replicas)
			made.Surge, made.MaxCopies = int(copies-replicas), maxCopies(config, replicas)
			for copyIndex := range copies {
				member := Copy{Index: copyIndex}
				member.Cliques, member.Missing = o.cliques(layout.Copy(o.Set, replica, config, copyIndex))
				made.Copies = append(made.Copies, member)
			}
		}
		observed.Groups = append(observed.Groups, made)
	}
	return observed
}

func (o Objects) cliques(members []layout.Member) (cliques []Clique, missing []string) {
	for _, member := range members {
		podClique := o.podClique(member.Name)
		if podClique == nil {
			missing = append(missing, member.Name)
			continue
		}
		clique := Clique{
			Name:     member.Name,
			Prepared: o.prepared(podClique, member),
			Replicas: podClique.Spec.Replicas,
			Minimum:  status.MinimumToStart(podClique),
			Reached:  podClique.Status.ReachedMinAvailable,
			Failing:  status.Failing(podClique),
		}
		if errors := podClique.Status.LastErrors; len(errors) > 0 {
			clique.Refused = errors[0].Description
		}
		for _, pod := range o.podsOf(podClique) {
			index, _ := layout.PodIndexOf(pod)
			clique.Pods = append(clique.Pods, Pod{
				Index:   index,
				Current: o.prepared(pod, member),
				Ready:   pods.Ready(pod), Scheduled: pods.Scheduled(pod), NoRoom: unschedulable(pod) != nil,
				Object: pod,
			})
		}
		slices.SortFunc(clique.Pods, byIndex)
		clique.Unscheduled = o.unscheduled(podClique, clique.Pods)
		cliques = append(cliques, clique)
	}
	return cliques, missing
}

// unscheduled is the scheduler's message about pods of a PodClique that have no room: about its gang, or, if that has
// all that it needs, about the first of the pods. It is empty if the scheduler has not said so.
func (o Objects) unscheduled(podClique *grovev1alpha1.PodClique, existing []Pod) string {
	if gang := o.Gangs[podClique.Labels[grovev1alpha1.LabelPodGang]]; gang != nil {
		scheduled := meta.FindStatusCondition(gang.Status.Conditions, schedulerv1alpha1.ConditionScheduled)
		if scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Message != "" {
			return fmt.Sprintf("PodGang %s waits: %s", gang.Name, scheduled.Message)
		}
	}
	for _, pod := range existing {
		if condition := unschedulable(pod.Object); condition != nil {
			return fmt.Sprintf("pod %s waits: %s", pod.Object.Name, condition.Message)
		}
	}
	return ""
}

// unschedulable is the condition in which the scheduler says that it has no node for a pod; nil if there is none.
func unschedulable(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return condition
		}
	}
	return nil
}
