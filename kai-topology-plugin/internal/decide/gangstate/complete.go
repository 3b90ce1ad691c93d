package gangstate

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Concluded records what the status of a gang says: the reason for which it waits, empty if it does not. It returns
// since when a gang that does not wait any more has had all pods that it needs; zero if that was returned already.
func (s *State) Concluded(key gang.Key, reason string) (complete time.Time) {
	s.change(key, func(r *record, _ *Effects) {
		switch reason {
		case "":
			complete, r.complete = r.complete, time.Time{}
		case scheduling.ReasonIncomplete, scheduling.ReasonInvalid:
			r.complete = time.Time{}
		}
	})
	return complete
}

// isComplete records since when a gang that is not bound has had all pods that it needs.
func (r *record) isComplete(now time.Time) {
	if r.complete.IsZero() && !meta.IsStatusConditionTrue(r.podGroup.Status.Conditions, scheduling.ConditionScheduled) {
		r.complete = now
	}
}
