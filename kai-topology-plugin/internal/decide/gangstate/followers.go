package gangstate

import (
	"fmt"
	"time"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	// followersWait is how long a base gang waits for the pods of its followers, since only pods say what room they
	// need. One controller creates them together with the gang's own pods.
	followersWait = 2 * time.Second
	// followersLife is how long room is kept for followers. They are let go of once all that the leader needs is
	// bound, which takes seconds for a thousand pods.
	followersLife = time.Minute
	// expectedLife is how long room is kept for further pods of a gang that has just been planned. Their controller has
	// begun to create them.
	expectedLife = 2 * time.Second
)

// leading is the wait of a gang that leads for the pods of one that follows.
type leading struct {
	until  time.Time
	over   bool
	awaits gang.Key
}

// awaitFollower says what a gang that leads waits for, empty if it does not: see followersWait.
func (s *State) awaitFollower(e *Effects, r *record, now time.Time) string {
	level := r.podGroup.Annotations[scheduling.AnnotationSharedRequired]
	if base, ok := gang.BaseOf(r.podGroup); !ok || base != r.key || level == "" || r.leading.over {
		return ""
	}
	lacking := s.lackingFollower(r)
	if lacking == nil {
		r.leading.awaits = gang.Key{}
		return ""
	}
	if r.leading.until.IsZero() {
		r.leading.until = now.Add(followersWait)
		e.again(followersWait)
	}
	r.leading.awaits = lacking.key
	return fmt.Sprintf("waiting up to %s for the pods of gang %s, which has to join it in one %s",
		followersWait, lacking.key.Name, level)
}

// lackingFollower returns the first follower with pods that are not created yet; nil if there is none, or if it is too
// late to look where all of them have room.
func (s *State) lackingFollower(r *record) (lacking *record) {
	if r.members.Placed() {
		return nil
	}
	for _, other := range s.relatedTo(r.podGroup) {
		if other.members.Placed() {
			return nil
		}
		tree, _ := s.parse(other)
		if tree != nil && other.members.Lacks(tree) && (lacking == nil || other.key.Name < lacking.key.Name) {
			lacking = other
		}
	}
	return lacking
}

// followerAppeared lets the leader of a gang go, if the gang's pods were all that it waited for.
func (s *State) followerAppeared(e *Effects, r *record, now time.Time) {
	if r.podGroup == nil {
		return
	}
	base, _ := gang.BaseOf(r.podGroup)
	if leader := s.gangs[base]; leader != nil && leader.leading.awaits == r.key && !leader.leading.over {
		s.admit(e, leader, now)
	}
}

// expectedFor returns for how long room may be kept for the pods that a gang is expected to have; at least 0. A gang
// that is planned again and again, because its pods cannot be bound, keeps room for expectedLife in every
// followersLife and no longer.
func (r *record) expectedFor(now time.Time) time.Duration {
	if r.planned.IsZero() || now.Sub(r.planned) >= followersLife {
		r.planned = now
	}
	return max(0, expectedLife-now.Sub(r.planned))
}
