// Package metrics publishes at /metrics the state of the PodGroups that the pod grouper keeps, and what it could not
// group. Names and labels are stable: they may be added to, but do not change.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/objectcount"

	"packtree.dev/podgrouper/internal/podgroups"
)

// AddToManager serves the metrics of a manager's program.
func AddToManager(mgr manager.Manager) error {
	return objectcount.Add(mgr, kept)
}

var kept = objectcount.Gauge{
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
		"One that " +
		"stays wrong is warned of again whenever it is looked at.",
}, []string{"reason"})

func init() { metrics.Registry.MustRegister(warnings) }

// Warns publishes a reason from the start, so that its first warning is an increase.
func Warns(reasons ...string) {
	for _, reason := range reasons {
		warnings.WithLabelValues(reason).Add(0)
	}
}

// Warned counts a warning to a user.
func Warned(reason string) { warnings.WithLabelValues(reason).Inc() }
