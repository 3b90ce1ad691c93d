package controller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/objectcount"
)

// Names and labels of metrics are stable: they may be added to, but do not change.

var sets = objectcount.Gauge{
	Name: "packtree_grove_podcliquesets",
	Help: "PodCliqueSets by the reason of their condition Ready.", Label: "reason",
	Known: []string{
		grovev1alpha1.ReasonAllReplicasAvailable, grovev1alpha1.ReasonReplicasMissing, grovev1alpha1.ReasonGangsWaiting,
		grovev1alpha1.ReasonPodsNotReady, grovev1alpha1.ReasonReconcileFailed, grovev1alpha1.ReasonBeingDeleted,
		objectcount.Unjudged,
	},
	List:  newSets,
	Stand: bySet(grovev1alpha1.ConditionReady),
}

var constraints = objectcount.Gauge{
	Name: "packtree_grove_podcliquesets_topology_levels",
	Help: "PodCliqueSets by the reason of their condition TopologyLevelsUnavailable: " +
		"whether their constraints can be enforced.", Label: "reason",
	Known: []string{
		grovev1alpha1.ReasonAllClusterTopologyLevelsAvailable, grovev1alpha1.ReasonClusterTopologyLevelsUnavailable,
		grovev1alpha1.ReasonClusterTopologyNotFound, objectcount.Unjudged,
	},
	List:  newSets,
	Stand: bySet(grovev1alpha1.ConditionTopologyLevelsUnavailable),
}

var gangs = objectcount.Gauge{
	Name:  "packtree_grove_podgangs",
	Help:  "PodGangs by phase: Pending until all minima have nodes, Starting until they are ready, then Running.",
	Label: "phase",
	Known: []string{
		string(schedulerv1alpha1.PodGangPhasePending), string(schedulerv1alpha1.PodGangPhaseStarting),
		string(schedulerv1alpha1.PodGangPhaseRunning), objectcount.Unjudged,
	},
	List: func() client.ObjectList { return &schedulerv1alpha1.PodGangList{} },
	Stand: func(object runtime.Object) string {
		if phase := object.(*schedulerv1alpha1.PodGang).Status.Phase; phase != "" {
			return string(phase)
		}
		return objectcount.Unjudged
	},
}

func newSets() client.ObjectList { return &grovev1alpha1.PodCliqueSetList{} }

func bySet(condition string) func(runtime.Object) string {
	return func(object runtime.Object) string {
		return objectcount.Reason(object.(*grovev1alpha1.PodCliqueSet).Status.Conditions, condition)
	}
}
