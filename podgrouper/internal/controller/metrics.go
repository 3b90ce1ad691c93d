package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/objectcount"

	"packtree.dev/podgrouper/internal/podgroups"
)

// Names and labels of metrics are stable: they may be added to, but do not change.

var podGroupsMade = objectcount.Gauge{
	Name: "packtree_podgrouper_podgroups",
	Help: "PodGroups that the pod grouper made, by the reason of their condition Valid.", Label: "reason",
	Known: []string{scheduling.ReasonAccepted, scheduling.ReasonInvalidOwner, objectcount.Unjudged},
	List:  func() client.ObjectList { return &scheduling.PodGroupList{} },
	Stand: func(object runtime.Object) string {
		podGroup := object.(*scheduling.PodGroup)
		if !podgroups.MadeHere(podGroup) {
			return ""
		}
		return objectcount.Reason(podGroup.Status.Conditions, scheduling.ConditionValid)
	},
}

var warnings = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "packtree_podgrouper_warnings_total",
	Help: "Warnings about pods and workloads that were not grouped as they ask for, by the reason of their event. " +
		"One that stays wrong is warned of again whenever it is looked at.",
}, []string{"reason"})

func init() {
	metrics.Registry.MustRegister(warnings)
	for _, reason := range []string{eventInvalid, eventForeign, eventUnreadable, eventCycle, eventNoGroup} {
		warnings.WithLabelValues(reason).Add(0) // So that the first one is an increase.
	}
}
