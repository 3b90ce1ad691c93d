package gangstate

import (
	"iter"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func keyOf(podGroup *scheduling.PodGroup) gang.Key {
	return gang.KeyOfPodGroup(podGroup)
}

// PodGroupChanged records what has become of a PodGroup. Old is nil if it is new, and podGroup if it is gone.
func (s *State) PodGroupChanged(old, podGroup *scheduling.PodGroup, now time.Time) Effects {
	if podGroup == nil {
		return s.podGroupGone(old, now)
	}
	return s.change(keyOf(podGroup), func(r *record, e *Effects) {
		s.setPodGroup(r, podGroup)
		s.trimSeats(e, r)
		if meta.IsStatusConditionTrue(podGroup.Status.Conditions, scheduling.ConditionScheduled) {
			r.complete = time.Time{} // Another process may have placed the gang, and reported how long that took.
		}
		switch {
		case old == nil:
			s.gangChanged(e, r, now)
			s.activateNear(e, r.key)
			return
		case marked(old) && !marked(podGroup):
			r.attempts = attempts{}
			s.gangChanged(e, r, now)
			return
		case !sameCarried(old, podGroup):
			s.activateRelated(e, old)
			s.activateRelated(e, podGroup)
		case old.UID == podGroup.UID && old.Generation == podGroup.Generation && !expectsElse(old, podGroup, r):
			if !gang.HasStarted(old) && gang.HasStarted(podGroup) {
				s.mendAnew(e, r, now)
			}
			e.writeStatus(r.key)
			return
		}
		r.attempts = attempts{}
		s.gangChanged(e, r, now)
		s.victimsChanged(e, r)
	})
}

// podGroupGone is for a PodGroup that is no more.
func (s *State) podGroupGone(podGroup *scheduling.PodGroup, now time.Time) Effects {
	return s.change(keyOf(podGroup), func(r *record, e *Effects) {
		s.setPodGroup(r, nil)
		r.parsed = parsed{}
		clear(r.ranks)
		s.trimSeats(e, r)
		s.gangChanged(e, r, now)
		s.activateRelated(e, podGroup)
		s.victimsChanged(e, r)
	})
}

// setPodGroup has a record know its PodGroup, and the gangs that share a constraint each other.
func (s *State) setPodGroup(r *record, podGroup *scheduling.PodGroup) {
	if r.podGroup != nil {
		for _, key := range gang.IndexKeys(r.podGroup) {
			if s.related[key].Delete(r.key); len(s.related[key]) == 0 {
				delete(s.related, key)
			}
		}
	}
	if podGroup == nil || !r.isOf(podGroup.UID) {
		r.ofPodGroup = ofPodGroup{}
	}
	if r.podGroup = podGroup; podGroup == nil {
		return
	}
	for _, key := range gang.IndexKeys(podGroup) {
		if s.related[key] == nil {
			s.related[key] = sets.New[gang.Key]()
		}
		s.related[key].Insert(r.key)
	}
}

// TopologyChanged records the levels of a Topology, from the broadest on; nil if it is gone. All gangs that name it
// are planned anew.
func (s *State) TopologyChanged(name string, levels podgrouptree.Hierarchy, now time.Time) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topologies[name] = levels; levels == nil {
		delete(s.topologies, name)
	}
	s.edition++
	for _, r := range s.gangs {
		if r.podGroup != nil && slices.Contains(gang.TopologiesOf(r.podGroup), name) {
			s.gangChanged(&effects, r, now)
			s.tidy(r)
		}
	}
	return effects
}

func (s *State) levels(topology string) (podgrouptree.Hierarchy, bool) {
	levels, ok := s.topologies[topology]
	return levels, ok
}

// parse reads the PodGroup of a gang, which has one, once for each version of it and of the Topologies: every pod of
// a gang asks for it several times.
func (s *State) parse(r *record) (*podgrouptree.Tree, *gang.Hold) {
	if r.parsed.podGroup != r.podGroup || r.parsed.edition != s.edition {
		r.parsed = parsed{podGroup: r.podGroup, edition: s.edition}
		r.parsed.tree, r.parsed.hold = gang.Read(r.podGroup, s.levels)
	}
	return r.parsed.tree, r.parsed.hold
}

// waitsInVain reports whether a gang that waits cannot be placed for a reason of its own, or has what it needs
// meanwhile: it keeps nothing from others then.
func (s *State) waitsInVain(r *record) bool {
	if r.podGroup == nil {
		return true
	}
	assembled, held := gang.AssembleFor(s.ours, r.podGroup, r.pods(), s.levels)
	return held != nil || len(assembled.Pending) == 0 || assembled.Satisfied(gang.NoPending)
}

// pods returns the pods of a gang, with the completed ones; assumed pods name their node.
func (r *record) pods() []*corev1.Pod {
	pods := slices.Concat(r.members.Pending(), r.members.Standing(), slices.Collect(maps.Values(r.done)))
	for _, onNode := range r.assumedPods() {
		i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == onNode.UID })
		if i >= 0 && gang.Pending(pods[i]) {
			pods[i] = onNode
		}
	}
	return pods
}

// relatedTo returns the gangs that share a constraint with that of a PodGroup.
func (s *State) relatedTo(podGroup *scheduling.PodGroup) (others []*record) {
	base, ok := gang.BaseKey(podGroup)
	if !ok {
		return nil
	}
	for key := range s.related[base] {
		if key != keyOf(podGroup) {
			others = append(others, s.gangs[key])
		}
	}
	return others
}

// activateRelated lets the gangs try again that share a constraint with one; PodGroup may be nil.
func (s *State) activateRelated(e *Effects, podGroup *scheduling.PodGroup) {
	if podGroup == nil {
		return // The event of its deletion has been, or will be, the reason to look.
	}
	for _, other := range s.relatedTo(podGroup) {
		s.activatePending(e, other)
	}
	s.activateCounted(e, podGroup)
}

// activateCounted lets the gangs try again that count the pods of one in domains of theirs; PodGroup may be nil.
func (s *State) activateCounted(e *Effects, podGroup *scheduling.PodGroup) {
	if podGroup == nil {
		return
	}
	for _, key := range gang.RelationKeys(podGroup) {
		for member := range s.related[key] {
			if member != keyOf(podGroup) {
				s.activatePending(e, s.gangs[member])
			}
		}
	}
	s.activateNear(e, keyOf(podGroup))
}

// activateNear lets the gangs try again that are to be near one, or near another that is, and so on. Whichever gang of
// a circle comes last, that of the first name need not wait any more.
func (s *State) activateNear(e *Effects, near gang.Key) {
	met := sets.New(near)
	for ahead := []gang.Key{near}; len(ahead) > 0; ahead = ahead[1:] {
		for member := range s.related[gang.NearKey(ahead[0])] {
			if !met.Has(member) {
				met.Insert(member)
				s.activatePending(e, s.gangs[member])
				ahead = append(ahead, member)
			}
		}
	}
}

// activateFollowing lets the gangs try again that are to be near one, which has nodes now.
func (s *State) activateFollowing(e *Effects, near gang.Key) {
	for member := range s.related[gang.NearKey(near)] {
		if member != near {
			s.activatePending(e, s.gangs[member])
		}
	}
}

// Related yields the gangs that have one of gang.IndexKeys in common, with their pods as they stand or are to go.
func (s *State) Related(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := map[*scheduling.PodGroup][]*corev1.Pod{}
	for member := range s.related[key] {
		found[s.gangs[member].podGroup] = s.gangs[member].heading()
	}
	return maps.All(found)
}

// heading returns the running, assumed and planned pods of a gang as if they stood on their nodes.
func (r *record) heading() []*corev1.Pod {
	pods := r.members.Standing()
	if r.plan != nil {
		for _, placement := range r.plan.room.pods {
			pods = append(pods, gang.On(placement.Node, placement.Pod))
		}
	}
	for _, onNode := range r.assumedPods() {
		if !r.members.Stands(onNode.UID) {
			pods = append(pods, onNode)
		}
	}
	return pods
}

// victimsChanged lets gangs of higher rank try again after a gang may have become a victim, or may have more victims.
func (s *State) victimsChanged(e *Effects, r *record) {
	pods := r.members.Standing()
	if len(pods) == 0 {
		return
	}
	priority := (&gang.Gang{Standing: pods}).Priority()
	for _, other := range s.waiting {
		if other.overtaken.claim.Rank.Priority > priority {
			other.call(e)
		}
	}
}

// expectsElse reports whether an update of a PodGroup, by an annotation that has no generation, may have its gang go
// elsewhere: other pods are expected, and none of them stands.
func expectsElse(old, podGroup *scheduling.PodGroup, r *record) bool {
	const expected = scheduling.AnnotationExpectedPods
	return old.Annotations[expected] != podGroup.Annotations[expected] && !r.members.Placed()
}

// sameCarried reports whether an update of a PodGroup keeps what it shares with other gangs, and the topology that its
// pods are made for. These are annotations, which have no generation.
func sameCarried(old, podGroup *scheduling.PodGroup) bool {
	return !slices.ContainsFunc(scheduling.CarriedAnnotations(), func(key string) bool {
		return old.Annotations[key] != podGroup.Annotations[key]
	})
}

// marked reports whether a PodGroup says that its gang was given up.
func marked(podGroup *scheduling.PodGroup) bool {
	for i := range podGroup.Status.SchedulingConditions {
		mark := &podGroup.Status.SchedulingConditions[i]
		if mark.Type == scheduling.UnschedulableOnNodePool && mark.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
