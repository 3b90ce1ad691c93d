package clustertopology

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/topology"
)

// statusOf is the status of a ClusterTopology or ClusterTopologyBinding with the users and nodes that a pass has found.
func statusOf(scope *scope, synced schedulerTopology) grovev1alpha1.ClusterTopologyStatus {
	users := scope.users
	status := *scope.topology.Status.DeepCopy()
	status.ObservedGeneration = scope.topology.Generation
	status.InUse = int32(len(users))
	status.Domains = topology.DomainList(scope.topology)
	status.Levels, status.Nodes, status.NodesMissingLevels = nil, nil, nil
	if nodes := scope.nodes; nodes != nil {
		status.Levels, status.Nodes, status.NodesMissingLevels = nodes.Levels, &nodes.Complete, &nodes.Incomplete
	}
	for _, condition := range []metav1.Condition{syncCondition(synced), heldCondition(users, scope.choosable),
		readyCondition(synced, scope.nodes)} {
		condition.ObservedGeneration = scope.topology.Generation
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

func syncCondition(synced schedulerTopology) metav1.Condition {
	condition := metav1.Condition{
		Type: grovev1alpha1.ClusterTopologySchedulerTopologyInSync, Status: metav1.ConditionFalse,
		Reason: grovev1alpha1.ReasonSchedulerTopologyPending, Message: synced.why,
	}
	switch {
	case synced.inSync:
		condition.Status, condition.Reason = metav1.ConditionTrue, grovev1alpha1.ReasonSchedulerTopologyInSync
		condition.Message = "the scheduler's Topology has the same levels"
	case synced.foreign:
		condition.Reason = grovev1alpha1.ReasonSchedulerTopologyForeign
	case synced.differs:
		condition.Reason = grovev1alpha1.ReasonSchedulerTopologyDiffers
	case synced.taken:
		condition.Reason = grovev1alpha1.ReasonTopologyNameTaken
	}
	return condition
}

// schedulerTopologyStatuses has one entry for our scheduler, with its Topology compared, and one for each other
// scheduler, with a Topology that is not known.
func schedulerTopologyStatuses(
	binding *grovev1alpha1.ClusterTopologyBinding, synced schedulerTopology,
) []grovev1alpha1.SchedulerTopologyStatus {
	ours := grovev1alpha1.SchedulerTopologyStatus{
		SchedulerTopologyBinding: grovev1alpha1.SchedulerTopologyBinding{
			SchedulerName: kaiv1alpha1.SchedulerName, TopologyReference: topology.OfBinding(binding).SchedulerName(),
		},
		InSync: synced.inSync, SchedulerBackendTopologyObservedGeneration: synced.generation, Message: synced.why,
	}
	statuses := []grovev1alpha1.SchedulerTopologyStatus{ours}
	for _, of := range binding.Spec.SchedulerTopologyBindings {
		if of.SchedulerName != kaiv1alpha1.SchedulerName {
			statuses = append(statuses, grovev1alpha1.SchedulerTopologyStatus{
				SchedulerTopologyBinding: of,
				Message: "no topology of this scheduler is known: only that of " + kaiv1alpha1.SchedulerName +
					" is compared",
			})
		}
	}
	return statuses
}

func heldCondition(users []grovev1alpha1.PodCliqueSet, choosable bool) metav1.Condition {
	if choosable {
		return metav1.Condition{
			Type: grovev1alpha1.ClusterTopologyDeletionBlocked, Status: metav1.ConditionTrue,
			Reason: grovev1alpha1.ReasonTopologyMayBeChosen,
			Message: "no PodCliqueSet uses the topology; it goes within a minute of its deletion, " +
				"when none can come that was admitted before",
		}
	}
	if len(users) == 0 {
		return metav1.Condition{
			Type: grovev1alpha1.ClusterTopologyDeletionBlocked, Status: metav1.ConditionFalse,
			Reason: grovev1alpha1.ReasonTopologyNotInUse, Message: "no PodCliqueSet uses the topology",
		}
	}
	return metav1.Condition{
		Type: grovev1alpha1.ClusterTopologyDeletionBlocked, Status: metav1.ConditionTrue,
		Reason: grovev1alpha1.ReasonTopologyInUse, Message: "used by PodCliqueSets " + namesOf(users),
	}
}

func namesOf(users []grovev1alpha1.PodCliqueSet) string {
	names := make([]string, 0, len(users))
	for i := range users {
		names = append(names, users[i].Namespace+"/"+users[i].Name)
	}
	return status.Few(names)
}

// readyCondition says of a usable topology which labels the nodes lack.
func readyCondition(synced schedulerTopology, nodes *topology.Coverage) metav1.Condition {
	condition := syncCondition(synced)
	condition.Type = grovev1alpha1.ClusterTopologyReady
	if synced.inSync {
		condition.Reason, condition.Message = grovev1alpha1.ReasonTopologyUsable, "PodCliqueSets can use the topology"
		if nodes != nil && nodes.Missing() != "" {
			condition.Message += "; " + nodes.Missing()
		}
	}
	return condition
}
