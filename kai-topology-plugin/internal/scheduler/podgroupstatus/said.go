package podgroupstatus

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// said is what was said of each gang, until it is no more, with all its pods that wait, or another profile reports it.
type said struct {
	mu sync.Mutex
	of map[gang.Key]*told
}

// told is what was reported of a gang. The writer of its status owns it.
type told struct {
	// waits is why the gang waits by its status, as the metrics have it; empty if it does not.
	waits string
	// sentence is what the gang says of its wait, since then.
	sentence string
	since    time.Time
	// announced is what events have said of it.
	announced
}

// announced is what events have said of the gang of a PodGroup, so that each is recorded once per reason and not with
// every attempt.
type announced struct {
	podGroup   types.UID
	generation int64
	// reasons are the reasons of recorded events, and strays the pods reported to name a leaf that does not exist.
	reasons sets.Set[string]
	strays  sets.Set[types.UID]
}

// about returns what was said of a gang.
func (s *said) about(key gang.Key) *told {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[gang.Key]*told{}
	}
	if s.of[key] == nil {
		s.of[key] = &told{}
	}
	return s.of[key]
}

// forget drops what was said of a gang.
func (s *said) forget(key gang.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, key)
}

// to returns what events have said of the gang of a PodGroup. Of one that is not known, the condition says what an
// earlier process said.
func (t *told) to(podGroup *scheduling.PodGroup) *announced {
	if t.reasons != nil && t.podGroup == podGroup.UID && t.generation == podGroup.Generation {
		return &t.announced
	}
	t.announced = announced{
		podGroup: podGroup.UID, generation: podGroup.Generation,
		reasons: sets.New[string](), strays: sets.New[types.UID](),
	}
	present := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
	// A gang that was changed and stands as before is no news either.
	if present != nil && (present.Status == metav1.ConditionTrue || present.ObservedGeneration == podGroup.Generation) {
		t.reasons.Insert(present.Reason)
	}
	return &t.announced
}
