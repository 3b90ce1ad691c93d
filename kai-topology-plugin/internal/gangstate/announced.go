package gangstate

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Announced is what events have said of a gang, so that each is recorded once per reason and not with every attempt.
type Announced struct {
	podGroup   types.UID
	generation int64
	// Reasons are those of events, and Strays the pods of which was said that they name a leaf which does not exist.
	Reasons sets.Set[string]
	Strays  sets.Set[types.UID]
}

// Announce runs a function on what events have said of the gang of a PodGroup. Of one that is not known, the condition
// says what an earlier process said. The function must be short: everybody else waits for it.
func (s *State) Announce(podGroup *scheduling.PodGroup, change func(announced *Announced)) {
	s.change(keyOf(podGroup), func(r *record, _ *Effects) {
		if r.announced == nil || r.announced.podGroup != podGroup.UID || r.announced.generation != podGroup.Generation {
			r.announced = announcedBefore(podGroup)
		}
		change(r.announced)
	})
}

func announcedBefore(podGroup *scheduling.PodGroup) *Announced {
	announced := &Announced{
		podGroup: podGroup.UID, generation: podGroup.Generation,
		Reasons: sets.New[string](), Strays: sets.New[types.UID](),
	}
	present := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
	// A gang that was changed and stands as before is no news either.
	if present != nil && (present.Status == metav1.ConditionTrue || present.ObservedGeneration == podGroup.Generation) {
		announced.Reasons.Insert(present.Reason)
	}
	return announced
}

// Concluded records what the status of a gang says: the reason for which it waits, empty if it does not. It returns
// the reason that was recorded before, and since when a gang that does not wait any more has had all pods that it
// needs; zero if that was returned already.
func (s *State) Concluded(key gang.Key, reason string) (before string, complete time.Time) {
	s.change(key, func(r *record, _ *Effects) {
		before, r.waits = r.waits, reason
		switch reason {
		case "":
			complete, r.complete = r.complete, time.Time{}
		case scheduling.ReasonIncomplete, scheduling.ReasonInvalid:
			r.complete = time.Time{}
		}
	})
	return before, complete
}

// Unspoken forgets what was said of a gang: it is no more, or somebody else reports it. It returns the reason for
// which it waited.
func (s *State) Unspoken(key gang.Key) (before string) {
	s.change(key, func(r *record, _ *Effects) {
		before, r.waits, r.announced, r.complete = r.waits, "", nil, time.Time{}
	})
	return before
}

// isComplete records since when a gang that is not bound has had all pods that it needs.
func (r *record) isComplete(now time.Time) {
	if r.complete.IsZero() && !meta.IsStatusConditionTrue(r.podGroup.Status.Conditions, scheduling.ConditionScheduled) {
		r.complete = now
	}
}
