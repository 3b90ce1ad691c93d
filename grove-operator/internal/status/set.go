package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/topology"
)

// Observed are the existing objects of a set.
type Observed struct {
	// PodCliques are the standalone ones, ScalingGroups the PodCliqueScalingGroups, both by name.
	PodCliques    map[string]*grovev1alpha1.PodClique
	ScalingGroups map[string]*grovev1alpha1.PodCliqueScalingGroup
	// Gangs are the PodGangs, in any order.
	Gangs []*schedulerv1alpha1.PodGang
	// Topology is the one that the set's constraints refer to.
	Topology topology.Resolution
	// PlacedElsewhere are the names of the pods on nodes that were made for another topology than the set names.
	PlacedElsewhere []string
	// Update is the progress of the template's update, without its counts; nil if there never was an update.
	Update *grovev1alpha1.PodCliqueSetUpdateProgress
	// Updating is the state of a running update beside that.
	Updating Updating
}

// OfSet is the status of a set. Outcome is the error of the current pass.
func OfSet(set *grovev1alpha1.PodCliqueSet, observed Observed, outcome error) grovev1alpha1.PodCliqueSetStatus {
	status := *set.Status.DeepCopy()
	status.ObservedGeneration = set.Generation
	hash := podtemplate.HashOfSet(set)
	if !observed.Updating.Undecided {
		// Recorded without its update, a template would reach all replicas at once.
		status.CurrentGenerationHash = &hash
	}
	selector := fmt.Sprintf("%s=%s,%s=%s,%s=%s", grovev1alpha1.LabelManagedBy, grovev1alpha1.LabelManagedByValue,
		grovev1alpha1.LabelPartOf, set.Name, grovev1alpha1.LabelStandsForReplica, grovev1alpha1.LabelStandsForValue)
	status.HPAPodSelector = &selector
	status.ClusterTopologyName = topologyInForce(observed.Topology.Name, observed.Gangs)
	status.Replicas, status.AvailableReplicas, status.UpdatedReplicas = 0, 0, 0
	var missing, behind []string
	status.UpdateProgress = observed.Update.DeepCopy()
	resetCounts(status.UpdateProgress)
	for replica := range layout.Replicas(set) {
		judged := judge(set, replica, observed, hash)
		missing, behind = append(missing, judged.missing...), append(behind, judged.behind...)
		judged.addTo(status.UpdateProgress)
		addIf(&status.Replicas, len(judged.missing) == 0)
		addIf(&status.AvailableReplicas, judged.available)
		addIf(&status.UpdatedReplicas, judged.updated)
	}
	recordGangs(&status, gangStatuses(observed.Gangs))
	meta.SetStatusCondition(&status.Conditions, observed.Topology.Condition(set.Generation))
	meta.SetStatusCondition(&status.Conditions, topologyKept(observed.Topology.Name, observed.Gangs,
		observed.PlacedElsewhere, set.Generation))
	failures := realErrors(outcome)
	ready := setReady(set, status, append(missing, behind...), failures, gangStatuses(lasting(observed)))
	if awaited := observed.Topology.Awaited(); awaited != "" && ready.Reason == grovev1alpha1.ReasonGangsWaiting {
		ready.Message = "held for " + awaited + ", which is missing; " + ready.Message
	}
	if set.DeletionTimestamp != nil && len(failures) == 0 {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, grovev1alpha1.ReasonBeingDeleted,
			whatRemains(observed)
	} else if waiting := observed.Updating.words(); waiting != "" && outcome == nil {
		ready.Message += "; updating " + waiting
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	if status.UpdateProgress != nil {
		meta.SetStatusCondition(&status.Conditions, observed.Updating.condition(set.Generation, status.UpdateProgress))
	}
	return status
}

// whatRemains names what a set that is being deleted waits for. A PodClique waits for its pods, for those on a dead
// node until they are overdue.
func whatRemains(observed Observed) string {
	var names []string
	for name, podClique := range observed.PodCliques {
		names = append(names, fmt.Sprintf("PodClique %s (pods on nodes: %d)", name, podClique.Status.ScheduledReplicas))
	}
	for name := range observed.ScalingGroups {
		names = append(names, "PodCliqueScalingGroup "+name)
	}
	if len(names) == 0 {
		return "being deleted"
	}
	return "being deleted; still there: " + Few(names)
}

// replicaJudgement is the state of one replica of a set.
type replicaJudgement struct {
	// missing are children that do not exist, behind are children with a status that is older than their spec.
	missing, behind    []string
	available, updated bool
	// podCliques and groups are how many of these the replica has, with how many run the current template.
	podCliques, updatedPodCliques, groups, updatedGroups int32
}

func judge(set *grovev1alpha1.PodCliqueSet, replica int32, observed Observed, hash string) replicaJudgement {
	judged := replicaJudgement{available: true}
	for _, member := range layout.Standalone(set, replica) {
		judged.podCliques++
		podClique := observed.PodCliques[member.Name]
		if podClique == nil || podClique.DeletionTimestamp != nil {
			judged.missing = append(judged.missing, "PodClique "+member.Name)
			continue
		}
		judged.available = judged.available && Available(podClique)
		addIf(&judged.updatedPodCliques, Updated(podClique, hash))
	}
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		judged.groups++
		name := layout.ScalingGroup(set.Name, replica, set.Spec.Template.PodCliqueScalingGroups[i].Name)
		group := observed.ScalingGroups[name]
		if group == nil || group.DeletionTimestamp != nil {
			judged.missing = append(judged.missing, "PodCliqueScalingGroup "+name)
			continue
		}
		if group.Status.Replicas < group.Spec.Replicas {
			judged.behind = append(judged.behind, "copies of PodCliqueScalingGroup "+name)
		}
		judged.available = judged.available && groupAvailable(group)
		addIf(&judged.updatedGroups, groupUpdated(group, hash))
	}
	judged.available = judged.available && len(judged.missing) == 0
	judged.updated = judged.updatedPodCliques == judged.podCliques && judged.updatedGroups == judged.groups
	return judged
}

// groupAvailable reports whether a group surely has its minimum of available copies: if the status is older than the
// spec, each copy that is removed may have been an available one.
func groupAvailable(group *grovev1alpha1.PodCliqueScalingGroup) bool {
	going := max(0, group.Status.Replicas-group.Spec.Replicas)
	return group.Status.AvailableReplicas-going >= GroupMinimum(group)
}

func groupUpdated(group *grovev1alpha1.PodCliqueScalingGroup, hash string) bool {
	return group.Status.ObservedGeneration == group.Generation &&
		group.Annotations[grovev1alpha1.AnnotationGenerationHash] == hash &&
		group.Status.CurrentPodCliqueSetGenerationHash != nil &&
		*group.Status.CurrentPodCliqueSetGenerationHash == hash &&
		group.Status.UpdatedReplicas == group.Spec.Replicas && group.Status.Replicas == group.Spec.Replicas
}

func gangStatuses(gangs []*schedulerv1alpha1.PodGang) []grovev1alpha1.PodGangStatus {
	var statuses []grovev1alpha1.PodGangStatus
	for _, gang := range byName(gangs) {
		statuses = append(statuses, grovev1alpha1.PodGangStatus{
			Name:       gang.Name,
			Phase:      phaseOf(gang),
			Conditions: repeated(gang.Status.Conditions),

			PlacementScore: gang.Status.PlacementScore,
		})
	}
	return statuses
}

// repeated are the conditions of a gang as a set repeats them. They have no generation: the gang's would mean nothing
// in the set, and cause a write of the status for each change of the gang.
func repeated(conditions []metav1.Condition) []metav1.Condition {
	repeated := slices.Clone(conditions)
	for i := range repeated {
		repeated[i].ObservedGeneration = 0
	}
	return repeated
}

// lasting are the gangs without those of copies beyond replicas, which exist for an update or are about to be deleted:
// a set is no less ready while these wait.
func lasting(observed Observed) []*schedulerv1alpha1.PodGang {
	return slices.DeleteFunc(slices.Clone(observed.Gangs), func(gang *schedulerv1alpha1.PodGang) bool {
		group := observed.ScalingGroups[gang.Labels[grovev1alpha1.LabelPodCliqueScalingGroup]]
		copyIndex, scaled := layout.CopyOf(gang)
		return scaled && group != nil && copyIndex >= group.Spec.Replicas
	})
}

func byName(gangs []*schedulerv1alpha1.PodGang) []*schedulerv1alpha1.PodGang {
	return slices.SortedFunc(slices.Values(gangs), func(a, b *schedulerv1alpha1.PodGang) int {
		return strings.Compare(a.Name, b.Name)
	})
}

func phaseOf(gang *schedulerv1alpha1.PodGang) grovev1alpha1.PodGangPhase {
	if gang.Status.Phase == "" {
		return grovev1alpha1.PodGangPending
	}
	return grovev1alpha1.PodGangPhase(gang.Status.Phase)
}

func setReady(
	set *grovev1alpha1.PodCliqueSet, status grovev1alpha1.PodCliqueSetStatus, missing []string, failures []error,
	gangs []grovev1alpha1.PodGangStatus,
) metav1.Condition {
	condition := metav1.Condition{
		Type: grovev1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: set.Generation,
	}
	waiting := withPhase(gangs, grovev1alpha1.PodGangPending)
	starting := withPhase(gangs, grovev1alpha1.PodGangStarting)
	available := fmt.Sprintf("%d of %d replicas are available", status.AvailableReplicas, set.Spec.Replicas)
	switch {
	case len(failures) > 0:
		condition.Reason = grovev1alpha1.ReasonReconcileFailed
		condition.Message = failures[0].Error()
	case len(missing) > 0:
		condition.Reason = grovev1alpha1.ReasonReplicasMissing
		condition.Message = available + "; not created yet: " + Few(missing)
	case len(waiting) > 0:
		condition.Reason = grovev1alpha1.ReasonGangsWaiting
		condition.Message = whyWaiting(waiting) + "; " + available
	case status.AvailableReplicas < set.Spec.Replicas || len(starting) > 0:
		condition.Reason = grovev1alpha1.ReasonPodsNotReady
		condition.Message = whyStarting(starting) + "; " + available
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, grovev1alpha1.ReasonAllReplicasAvailable
		condition.Message = available + withoutRoom(gangs)
	}
	return condition
}

// withoutRoom repeats the scheduler's message about pods beyond the minimum of a gang that have no node. Empty if all
// have one.
func withoutRoom(gangs []grovev1alpha1.PodGangStatus) string {
	words, others := "", 0
	for _, gang := range gangs {
		switch message := lacksPods(gang); {
		case message == "":
		case words == "":
			words = fmt.Sprintf("; of PodGang %s, %s", gang.Name, message)
		default:
			others++
		}
	}
	if others > 0 {
		words += fmt.Sprintf(" (and so of %d more)", others)
	}
	return words
}

func withPhase(statuses []grovev1alpha1.PodGangStatus, phase grovev1alpha1.PodGangPhase) []grovev1alpha1.PodGangStatus {
	return slices.DeleteFunc(slices.Clone(statuses),
		func(status grovev1alpha1.PodGangStatus) bool { return status.Phase != phase })
}

// whyWaiting repeats the scheduler's message about the first waiting gang that it has judged, or else says what the
// gang lacks before the scheduler can judge it.
func whyWaiting(waiting []grovev1alpha1.PodGangStatus) string {
	for _, gang := range waiting {
		scheduled := meta.FindStatusCondition(gang.Conditions, schedulerv1alpha1.ConditionScheduled)
		if scheduled != nil && scheduled.Status == metav1.ConditionFalse && scheduled.Message != "" {
			return waitingWords(gang.Name, scheduled.Message, len(waiting)-1)
		}
	}
	first := waiting[0]
	initialized := meta.FindStatusCondition(first.Conditions, schedulerv1alpha1.ConditionInitialized)
	if initialized != nil && initialized.Status == metav1.ConditionFalse {
		return waitingWords(first.Name, "its pods are being created: "+initialized.Message, len(waiting)-1)
	}
	return waitingWords(first.Name, "it has not been scheduled yet", len(waiting)-1)
}

func waitingWords(gang, why string, others int) string {
	words := fmt.Sprintf("PodGang %s waits: %s", gang, why)
	if others > 0 {
		words += fmt.Sprintf(" (and %d more wait)", others)
	}
	return words
}

func whyStarting(starting []grovev1alpha1.PodGangStatus) string {
	if len(starting) == 0 {
		return "the status of some PodCliques is not up to date yet"
	}
	first := starting[0]
	why := "its pods are not ready yet"
	if ready := meta.FindStatusCondition(first.Conditions, schedulerv1alpha1.ConditionReady); ready != nil {
		why = ready.Message
	}
	return fmt.Sprintf("PodGang %s starts: %s", first.Name, why)
}
