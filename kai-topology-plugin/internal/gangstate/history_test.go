package gangstate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// phase is where the scheduler has a pod.
type phase string

const (
	gatedPod  phase = "gated"   // PreEnqueue holds it.
	activePod phase = "active"  // It is taken next.
	parked    phase = "parked"  // It was turned away, and waits for an event.
	told      phase = "told"    // Permit has it wait, and it is not in the list of those that wait yet.
	waits     phase = "waits"   // It is in that list.
	binding   phase = "binding" // Its binding is under way.
	bound     phase = "bound"
	leaving   phase = "leaving" // It is on its way out, and its node shows it.
	over      phase = "over"    // It has failed.
)

// member is a pod as the API server shows it, and where the scheduler has it.
type member struct {
	*corev1.Pod
	phase phase
	node  string
}

// String is for whoever reads what was drawn.
func (m *member) String() string {
	return fmt.Sprintf("%s of %s, %s %s", m.Name, m.Annotations[scheduling.AnnotationPodGroupName], m.phase, m.node)
}

// scheduler is kube-scheduler around a state, on nodes that have room for one pod each, with the API server's events
// under way to it.
type scheduler struct {
	*rapid.T
	state  *State
	now    time.Time
	nodes  []string
	groups map[gang.Key]*scheduling.PodGroup
	pods   map[types.UID]*member
	made   int
	// leaving are pods that were bound, or had a seat, and are gone, of which word has not come yet: nobody can know.
	leaving map[types.UID]gang.Key
	// events are changes that the API server shows, and of which word has not come yet.
	events []func() Effects
	// refusedWith are the nodes that were free for a gang when it got none.
	refusedWith map[gang.Key][]string
	// held are the seats that the metrics report.
	held int
	// settling is set once nothing happens any more but what follows from what has.
	settling bool
}

func newScheduler(t *rapid.T) *scheduler {
	s := &scheduler{T: t, state: New(anyone), now: start, groups: map[gang.Key]*scheduling.PodGroup{},
		pods: map[types.UID]*member{}, leaving: map[types.UID]gang.Key{}, refusedWith: map[gang.Key][]string{}}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		s.addNode(fmt.Sprint("n", i))
	}
	return s
}

// begin is the start of a scheduler on a cluster in which pods of gangs stand already, as far as there are nodes.
func (s *scheduler) begin() {
	for _, node := range s.nodes {
		key := s.anyGang()
		if !rapid.Bool().Draw(s.T, "stands from the start") {
			continue
		}
		if s.groups[key] == nil {
			s.changeGroup(key)
		}
		standing := s.createPod(key)
		standing.node = node
		s.bind(standing)
	}
	for rapid.Bool().Draw(s.T, "word before the start") && len(s.events) > 0 {
		s.tell()
	}
	s.do(s.state.Opened(s.now))
}

func (s *scheduler) addNode(name string) {
	s.nodes = append(s.nodes, name)
	s.events = append(s.events, func() Effects { return s.state.NodeSeen(nodeNamed(name)) })
}

func nodeNamed(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

var gangNames = []string{"a", "b", "c"}

func (s *scheduler) anyGang() gang.Key {
	return gang.Key{Namespace: "default", Name: rapid.SampledFrom(gangNames).Draw(s.T, "gang")}
}

// anyPod draws a pod in one of the phases, nil if there is none.
func (s *scheduler) anyPod(phases ...phase) *member {
	var found []*member
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		if slices.Contains(phases, s.pods[uid].phase) {
			found = append(found, s.pods[uid])
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b *member) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return rapid.SampledFrom(found).Draw(s.T, "pod")
}

func (s *scheduler) keyOf(pod *member) gang.Key {
	key, _ := gang.KeyOf(pod.Pod)
	return key
}

func (s *scheduler) version(key gang.Key) Version {
	if s.groups[key] == nil {
		return Version{}
	}
	return VersionOf(s.groups[key], func(string) string { return "" })
}

// taken returns who is on a node; nil if nobody is.
func (s *scheduler) taken(node string) *member {
	for _, pod := range s.pods {
		if pod.node == node {
			return pod
		}
	}
	return nil
}

// do does what is to be done about an event, some of it twice.
func (s *scheduler) do(effects Effects) {
	for range rapid.IntRange(1, 2).Draw(s.T, "times") {
		for _, uid := range effects.Allow {
			if pod := s.pods[uid]; pod != nil && (pod.phase == waits || pod.phase == told) {
				pod.phase = binding
			}
		}
		for _, rejected := range effects.Reject {
			if pod := s.pods[rejected.Pod]; pod != nil && pod.phase == waits {
				s.unreserve(pod)
			}
		}
		s.activate(effects.Activate)
	}
	for _, seat := range effects.Seats {
		if s.held++; seat.Ended != "" {
			s.held -= 2
		}
	}
	if effects.Released != nil {
		s.mayGo(effects.Released.Gang)
	}
}

func (s *scheduler) activate(pods []*corev1.Pod) {
	for _, activated := range pods {
		if pod := s.pods[activated.UID]; pod != nil && (pod.phase == parked || pod.phase == gatedPod) {
			s.enqueue(pod)
		}
	}
}

// enqueue is PreEnqueue.
func (s *scheduler) enqueue(pod *member) {
	reason, effects := s.state.Queued(s.keyOf(pod), pod.Pod, s.now)
	if pod.phase = activePod; reason != "" {
		pod.phase = gatedPod
	}
	s.do(effects)
}

// mayGo fails unless a gang has all that its PodGroup asks for now on nodes, as far as word has come of its pods.
func (s *scheduler) mayGo(key gang.Key) {
	on := 0
	for _, left := range s.leaving {
		if left == key {
			on++
		}
	}
	for _, pod := range s.pods {
		if s.keyOf(pod) == key && (pod.node != "" || s.state.record(key).seatOf(pod.UID) != nil) {
			on++
		}
	}
	if needed := int(*s.groups[key].Spec.MinMember); on < needed {
		s.Fatalf("gang %s is let go with %d of %d pods on nodes", key, on, needed)
	}
}

// unreserve takes a pod off its node. Who waits for room hears of it as of any pod that leaves.
func (s *scheduler) unreserve(pod *member) {
	pod.node, pod.phase = "", parked
	s.do(s.state.Unassumed(s.keyOf(pod), pod.UID, s.now))
	if pod.phase == parked {
		s.enqueue(pod) // After its backoff.
	}
	s.roomGrew()
}

// roomGrew has those ask again that EventsToRegister names.
func (s *scheduler) roomGrew() {
	s.state.RoomGrew()
	for _, name := range gangNames {
		key := gang.Key{Namespace: "default", Name: name}
		if asker, ok := s.state.Asker(key); ok && s.pods[asker] != nil {
			s.activate([]*corev1.Pod{s.pods[asker].Pod})
		}
	}
}

// cycle takes a pod through one scheduling cycle.
func (s *scheduler) cycle(pod *member) {
	key := s.keyOf(pod)
	pod.phase = parked
	if s.groups[key] == nil {
		pod.phase = gatedPod
		return
	}
	reply, effects := s.state.Ask(key, s.version(key), pod.UID)
	s.do(effects)
	if reply.Decide {
		s.decide(key, pod)
		reply, effects = s.state.Ask(key, s.version(key), pod.UID)
		s.do(effects)
	}
	if reply.Node == "" || pod.phase != parked && pod.phase != activePod {
		return
	}
	if !slices.Contains(s.nodes, reply.Node) || s.taken(reply.Node) != nil ||
		reply.Yields && len(s.state.Reserved(key, priorityOf(key))[reply.Node]) > 0 {
		s.do(s.state.NodeRefused(key, s.version(key), pod.Pod, "the node does not take it"))
		delete(s.refusedWith, key)
		return
	}
	onNode := pod.DeepCopy()
	onNode.Spec.NodeName = reply.Node
	wanted, effects := s.state.Assumed(key, onNode)
	s.do(effects)
	if !wanted {
		return
	}
	pod.node, pod.phase = reply.Node, told
	seated := s.state.record(key).assumed[pod.UID].letGo
	permission, effects := s.state.Permit(key, pod.UID, s.version(key))
	s.do(effects)
	switch permission {
	case Go:
		if pod.phase = binding; !seated {
			s.mayGo(key)
		}
	case Return:
		s.unreserve(pod)
	case Wait:
	}
}

// decide gives a gang free nodes, if there are as many as it needs. It does not look again at nodes on which it has
// found no place, as long as the state says that the gang is the same.
func (s *scheduler) decide(key gang.Key, here *member) {
	began, group, version := s.state.Now(), s.groups[key], s.version(key)
	reserved := s.state.Reserved(key, priorityOf(key))
	free := slices.DeleteFunc(slices.Clone(s.nodes),
		func(node string) bool { return s.taken(node) != nil || len(reserved[node]) > 0 })
	if s.state.Current(key, s.version(key)) != nil && slices.Equal(free, s.refusedWith[key]) {
		return
	}
	pods := map[types.UID]*corev1.Pod{}
	for uid, pod := range s.pods {
		if s.keyOf(pod) == key {
			pods[uid] = pod.Pod
		}
	}
	for _, pod := range s.state.AssumedPods(key) {
		if shown := pods[pod.UID]; shown != nil && gang.Pending(shown) {
			pods[pod.UID] = pod
		}
	}
	asked, held := gang.AssembleFor(anyone, group, slices.Collect(maps.Values(pods)), s.state.levels)
	if held != nil {
		return
	}
	s.meanwhile(key)
	var placements []Placement
	answer := &decision.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{}}
	count := min(len(free), len(asked.Pending))
	if asked.Satisfied(gang.NoPending) {
		count -= count % together(key)
	}
	for i, pod := range asked.Pending[:count] {
		answer.Nodes[pod.Name] = free[i]
		placements = append(placements, Placement{Pod: pod, Node: free[i], Place: PlaceOf(nil, nil)})
	}
	if !asked.Satisfied(func(pod *corev1.Pod) bool { return answer.Nodes[pod.Name] != "" }) || len(placements) == 0 {
		answer = &decision.Answer{Verdict: scheduling.ReasonPlaced, Message: "no room for more"}
		if !asked.Satisfied(gang.NoPending) {
			answer = &decision.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}
			_, effects := s.state.DidNotFit(asked,
				Claim{Rank: asked.Rank(), Scarce: []string{"pods"}, Generation: group.Generation}, began.Room)
			s.do(effects)
		}
		_, effects := s.state.Refused(asked, s.version(key), here.Pod, answer, began)
		s.do(effects)
		if s.refusedWith[key] = free; s.state.Room() != began.Room {
			s.activate([]*corev1.Pod{here.Pod}) // The queue keeps events for a pod that is being looked at.
		}
		return
	}
	s.do(s.state.Planned(asked, version, here.Pod, answer, placements, s.now))
	changed, effects := s.state.Confirm(asked, version, placements, s)
	if s.do(effects); changed != "" {
		s.activate([]*corev1.Pod{here.Pod})
	}
}

// Version returns the version of a gang; false if it has no PodGroup.
func (s *scheduler) Version(key gang.Key) (Version, bool) {
	return s.version(key), s.groups[key] != nil
}

// Pod returns a pod as the API server shows it; nil if it is gone.
func (s *scheduler) Pod(pod *corev1.Pod) *corev1.Pod {
	if now := s.pods[pod.UID]; now != nil {
		return now.Pod
	}
	return nil
}

// Shows reports whether a node shows a pod.
func (s *scheduler) Shows(node string, pod types.UID) (bool, error) {
	there := s.taken(node)
	return there != nil && there.UID == pod, nil
}

// Displaces reports whether pods that come to a node leave no room there for a pod that had some.
func (s *scheduler) Displaces(node string, coming []*corev1.Pod, _ *corev1.Pod) (bool, error) {
	return s.taken(node) == nil && len(coming) > 0, nil
}

// priorityOf is the priority of the pods of a gang: those of one gang may take the seats of the others.
func priorityOf(key gang.Key) int32 {
	if key.Name == "b" {
		return 1
	}
	return 0
}

// together is how many further pods of a gang go at once, as those of a subgroup do that the gang can do without.
func together(key gang.Key) int {
	if key.Name == "c" {
		return 2
	}
	return 1
}

// meanwhile has something happen, and word of some or all of it come, while a gang is decided that was read before.
func (s *scheduler) meanwhile(key gang.Key) {
	if s.settling {
		return
	}
	switch rapid.SampledFrom([]string{"", "", "created", "deleted", "failed", "changed", "gone"}).Draw(s.T, "meanwhile") {
	case "created":
		s.createPod(key)
	case "deleted":
		if pod := s.anyPod(bound, leaving); pod != nil {
			s.deletePod(pod)
		}
	case "failed":
		if pod := s.anyPod(bound); pod != nil {
			s.failPod(pod)
		}
	case "changed":
		s.changeGroup(s.anyGang())
	case "gone":
		if len(s.nodes) > 1 {
			s.loseNode(rapid.SampledFrom(s.nodes).Draw(s.T, "node"))
		}
	default:
		return
	}
	for all := rapid.Bool().Draw(s.T, "word of all"); len(s.events) > 0 && (all || rapid.Bool().Draw(s.T, "word")); {
		s.tell()
	}
}

// tell has word of the oldest change come.
func (s *scheduler) tell() {
	if len(s.events) > 0 {
		event := s.events[0]
		s.events = s.events[1:]
		s.do(event())
	}
}

func (s *scheduler) setGroup(key gang.Key, group *scheduling.PodGroup) {
	old := s.groups[key]
	if group == nil {
		delete(s.groups, key)
		s.events = append(s.events, func() Effects { return s.state.PodGroupDeleted(old, s.now) })
		return
	}
	s.groups[key] = group
	s.events = append(s.events, func() Effects { return s.state.PodGroupChanged(old, group, s.now) })
}

func (s *scheduler) changeGroup(key gang.Key) {
	s.made++
	group := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1,
			UID: types.UID(fmt.Sprint(s.made))},
	}
	if old := s.groups[key]; old != nil {
		group.UID, group.Generation = old.UID, old.Generation+1
	}
	group.Spec.MinMember = ptr.To(rapid.Int32Range(1, 3).Draw(s.T, "needs"))
	group.Annotations = map[string]string{}
	if hold := rapid.SampledFrom([]string{"", "", "0", "3s"}).Draw(s.T, "hold"); hold != "" {
		group.Annotations[scheduling.AnnotationSeatHold] = hold
	}
	if rapid.Bool().Draw(s.T, "says how many are expected") {
		expected := podgrouptree.Expected{"": *group.Spec.MinMember + rapid.Int32Range(0, 1).Draw(s.T, "further")}
		group.Annotations[scheduling.AnnotationExpectedPods] = expected.String()
	}
	s.setGroup(key, group)
}

func (s *scheduler) createPod(key gang.Key) *member {
	s.made++
	made := pod(fmt.Sprint("p", s.made))
	made.Namespace, made.Annotations = key.Namespace, map[string]string{scheduling.AnnotationPodGroupName: key.Name}
	made.Spec.Priority = ptr.To(priorityOf(key))
	if rapid.IntRange(0, 3).Draw(s.T, "owned") > 0 {
		made.OwnerReferences = []metav1.OwnerReference{{Controller: ptr.To(true)}}
	}
	created := &member{Pod: made}
	s.pods[made.UID] = created
	s.events = append(s.events, func() Effects { return s.state.PodAdded(made, s.now) })
	s.enqueue(created)
	return created
}

func (s *scheduler) bind(pod *member) {
	old := pod.Pod
	pod.Pod = old.DeepCopy()
	pod.Spec.NodeName = pod.node
	pod.phase = bound
	now := pod.Pod
	s.events = append(s.events, func() Effects { return s.state.PodChanged(old, now, s.now) })
}

func (s *scheduler) deletePod(pod *member) {
	if pod.phase == told || pod.phase == waits || pod.phase == binding {
		s.unreserve(pod) // The queue's own handler rejects it.
	}
	delete(s.pods, pod.UID)
	gone := pod.Pod
	if gone.Spec.NodeName != "" || s.state.record(s.keyOf(pod)).seatOf(gone.UID) != nil {
		s.leaving[gone.UID] = s.keyOf(pod)
	}
	s.events = append(s.events, func() Effects { delete(s.leaving, gone.UID); return s.state.PodDeleted(gone, s.now) })
	if gone.Spec.NodeName != "" {
		s.roomGrew()
	}
}

// stopPod has a pod be on its way out: its node shows it until it is gone.
func (s *scheduler) stopPod(pod *member) {
	pod.phase = leaving
	s.update(pod, func(now *corev1.Pod) { now.DeletionTimestamp = ptr.To(metav1.NewTime(s.now)) })
}

// failPod has a pod fail: its room is free.
func (s *scheduler) failPod(pod *member) {
	pod.phase, pod.node = over, ""
	s.leaving[pod.UID] = s.keyOf(pod)
	s.update(pod, func(now *corev1.Pod) { now.Status.Phase = corev1.PodFailed })
	s.roomGrew()
}

func (s *scheduler) update(pod *member, change func(*corev1.Pod)) {
	old, now := pod.Pod, pod.DeepCopy()
	change(now)
	pod.Pod = now
	s.events = append(s.events, func() Effects { delete(s.leaving, now.UID); return s.state.PodChanged(old, now, s.now) })
}

// loseNode takes away a node, and has the pods go that were bound to it.
func (s *scheduler) loseNode(node string) {
	s.nodes = slices.DeleteFunc(s.nodes, func(other string) bool { return other == node })
	if pod := s.taken(node); pod != nil && (pod.phase == bound || pod.phase == leaving) {
		s.deletePod(pod)
	}
	s.events = append(s.events, func() Effects { return s.state.NodeGone(node) })
	s.events = append(s.events,
		func() Effects { return s.state.NodeChanged(node, "is gone", func(Place) bool { return false }) })
}

// failBinding has the binding of a pod come to nothing, for the sake of its node or for no reason of its own.
func (s *scheduler) failBinding(pod *member, refused bool) {
	if refused || !slices.Contains(s.nodes, pod.node) {
		s.state.Refuse(s.keyOf(pod), pod.UID)
	}
	s.unreserve(pod)
}

func (s *scheduler) tick(after time.Duration) {
	s.now = s.now.Add(after)
	s.do(s.state.Tick(s.now))
}

// check holds after each event.
func (s *scheduler) check(t *rapid.T) {
	promised := map[string]types.UID{}
	seats := 0
	for key, r := range s.state.gangs {
		seen, claimed := map[types.UID]bool{}, r.claimed()
		seats += len(r.seats())
		for _, v := range r.kept {
			s.hasReason(t, r, v)
			if v.priority != nobody && v.purpose != vacated || claimed.Has(v) {
				continue
			}
			for uid, placement := range v.pods {
				if other, twice := promised[placement.Node]; twice {
					t.Fatalf("room on %s is kept for %s and for %s %+v", placement.Node, other, uid, func() (o []string) {
						for k, r := range s.state.gangs {
							for _, v := range r.kept {
								o = append(o, fmt.Sprintf("%s %+v", k, *v))
							}
						}
						for _, p := range s.pods {
							o = append(o, p.String())
						}
						return
					}())
				}
				if seen[uid] || r.assumed[uid] != nil {
					t.Fatalf("pod %s of gang %s has two places", uid, key)
				}
				if pod := s.taken(placement.Node); pod != nil && pod.UID != uid && (v.purpose != vacated || s.keyOf(pod) != key) {
					t.Fatalf("room on %s is kept for %s, and %s is there", placement.Node, uid, pod.UID)
				}
				promised[placement.Node], seen[uid] = uid, true
			}
		}
		if (s.state.holding[key] != nil) != (r.plan != nil || len(r.assumed) > 0 || len(r.kept) > 0 || r.preempting != nil ||
			r.inTime()) {
			t.Fatalf("gang %s is in the wrong index", key)
		}
	}
	if seats != s.held {
		t.Fatalf("%d seats are held, and %d are told of", seats, s.held)
	}
}

// hasReason fails if room is kept without a reason.
func (s *scheduler) hasReason(t *rapid.T, r *record, v *reservation) {
	ok := false
	switch v.purpose {
	case planned:
		ok = r.plan != nil && r.plan.room == v
	case preempted:
		ok = r.preempting != nil && r.preempting.room == v
	case retried:
		ok = len(v.pods) == 1 && !v.until.IsZero() && !v.until.After(s.now.Add(SeatLife))
	case expected, followed:
		ok = !v.until.IsZero()
	case vacated:
		hold := HoldOf(r.podGroup)
		ok = len(v.pods) == 1 && hold > 0 && !v.until.After(s.now.Add(SeatHold)) &&
			s.state.takes(v.placement().Node, v.placement().Pod) && !s.state.hasAll(r, "", vacatedBy(r))
	case moving:
		ok = len(v.pods) == 1 && r.podGroup != nil && v.until.After(s.now) && !v.until.After(s.now.Add(SeatHold)) &&
			s.state.takes(v.placement().Node, v.placement().Pod)
	}
	if !ok {
		t.Fatalf("room is kept for gang %s without a reason: %+v", r.key, v)
	}
}

// vacatedBy counts the seats of pods that have left, or are leaving. Those that are to move stand yet.
func vacatedBy(r *record) (count int) {
	for _, seat := range r.seats() {
		if seat.purpose == vacated {
			count++
		}
	}
	return count
}

// settle lets everything come to its end.
func (s *scheduler) settle() {
	s.settling = true
	for range 500 {
		for len(s.events) > 0 {
			s.tell()
		}
		var next *member
		for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
			pod := s.pods[uid]
			if pod.phase == leaving {
				s.deletePod(pod)
				continue
			}
			if pod.phase == activePod || pod.phase == told || pod.phase == binding || pod.phase == waits && next == nil {
				if next = pod; pod.phase != waits {
					break
				}
			}
		}
		switch {
		case next == nil && len(s.events) > 0:
		case next == nil:
			if s.now.Sub(start) > 1000*time.Hour {
				return
			}
			s.now = s.now.Add(1000 * time.Hour)
			s.do(s.state.Tick(s.now))
		case next.phase == activePod:
			s.cycle(next)
		case next.phase == told:
			next.phase = waits
			s.tick(sweepAfter)
		case next.phase == binding:
			if slices.Contains(s.nodes, next.node) {
				s.bind(next)
			} else {
				s.failBinding(next, true)
			}
		default:
			s.Fatalf("pod %s waits on %s, and nobody comes", next.UID, next.node)
		}
	}
	s.Fatal("it does not come to an end")
}

// checkEnd holds when nothing is under way any more.
func (s *scheduler) checkEnd() {
	for key, r := range s.state.gangs {
		if r.plan != nil || len(r.assumed) > 0 || len(r.waiting()) > 0 {
			s.Errorf("gang %s has a plan, or pods on their way, although nothing is under way", key)
		}
		if slices.ContainsFunc(r.kept, func(v *reservation) bool { return v.purpose != preempted }) {
			s.Errorf("room is kept for gang %s although nobody comes", key)
		}
	}
	free := len(slices.DeleteFunc(slices.Clone(s.nodes), func(node string) bool { return s.taken(node) != nil }))
	for key, group := range s.groups {
		standing, pending := 0, 0
		for _, pod := range s.pods {
			switch {
			case s.keyOf(pod) != key:
			case pod.phase == bound:
				standing++
			case pod.phase == over:
			default:
				pending++
			}
		}
		needed := int(*group.Spec.MinMember)
		if s.state.Waits(key) && standing >= needed {
			s.Errorf("others wait for gang %s, of which %d of %d pods stand", key, standing, needed)
		}
		room := free - len(s.state.Reserved(key, priorityOf(key)))
		least := max(needed-standing, together(key))
		if pending >= least && room >= least {
			s.Errorf("gang %s is forgotten: %d of %d pods stand, %d wait, and %d nodes are free; pods %v, last answer %+v",
				key, standing, needed, pending, room, slices.Collect(maps.Values(s.pods)), s.state.known(key).last)
		}
	}
	for key := range s.state.gangs {
		known := s.groups[key] != nil || s.state.gangs[key].preempting != nil || s.state.gangs[key].overtaken != nil
		for _, pod := range s.pods {
			known = known || s.keyOf(pod) == key
		}
		if !known {
			s.Errorf("gang %s is remembered, and there is nothing left of it", key)
		}
	}
}

// Whatever happens in whatever order, and however late word of it comes: no room is given twice, no gang goes with less
// than it needs, nothing is kept without a reason, and in the end no gang is forgotten, and none waited for that
// stands.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScheduler(t)
		s.begin()
		on := func(event func(pod *member), phases ...phase) func(*rapid.T) {
			return func(t *rapid.T) {
				s.T = t
				if pod := s.anyPod(phases...); pod != nil {
					event(pod)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"a PodGroup is made or changed": func(t *rapid.T) { s.T = t; s.changeGroup(s.anyGang()) },
			"a PodGroup is deleted": func(t *rapid.T) {
				s.T = t
				if key := s.anyGang(); s.groups[key] != nil {
					s.setGroup(key, nil)
				}
			},
			"a pod is created":       func(t *rapid.T) { s.T = t; s.createPod(s.anyGang()) },
			"another pod is created": func(t *rapid.T) { s.T = t; s.createPod(s.anyGang()) },
			"a pod is deleted": on(s.deletePod, gatedPod, activePod, parked, told, waits, binding, bound,
				leaving, over),
			"a pod that stands is deleted":      on(s.deletePod, bound),
			"a pod is on its way out":           on(s.stopPod, bound),
			"a pod fails":                       on(s.failPod, bound),
			"a pod is taken":                    on(s.cycle, activePod),
			"another pod is taken":              on(s.cycle, activePod),
			"a pod gets into the list":          on(func(pod *member) { pod.phase = waits; s.tick(sweepAfter) }, told),
			"a pod has waited for too long":     on(s.unreserve, waits),
			"a pod is bound":                    on(s.bind, binding),
			"a binding fails":                   on(func(pod *member) { s.failBinding(pod, false) }, binding),
			"a node turns out to be another":    on(func(pod *member) { s.failBinding(pod, true) }, binding),
			"word comes":                        func(t *rapid.T) { s.T = t; s.tell() },
			"word comes of something else, too": func(t *rapid.T) { s.T = t; s.tell() },
			"a node goes": func(t *rapid.T) {
				if s.T = t; len(s.nodes) > 1 {
					s.loseNode(rapid.SampledFrom(s.nodes).Draw(t, "node"))
				}
			},
			"a node comes": func(t *rapid.T) {
				s.T = t
				s.made++
				s.addNode(fmt.Sprint("m", s.made))
				s.roomGrew()
			},
			"a plan is broken": func(t *rapid.T) { s.T = t; s.do(s.state.Break(s.anyGang(), metrics.Preempted, "test")) },
			"time passes": func(t *rapid.T) {
				s.T = t
				s.tick(cmp.Or(rapid.SampledFrom([]time.Duration{time.Second, SeatLife, followersWait}).Draw(t, "time"),
					time.Second))
			},
			"others leave for a gang": func(t *rapid.T) {
				s.T = t
				key := s.anyGang()
				if group, here := s.groups[key], s.anyPod(parked); group != nil && here != nil && s.keyOf(here) == key &&
					!s.state.Underway(key) {
					asked := &gang.Gang{PodGroup: group, Pending: []*corev1.Pod{here.Pod}}
					delete(s.refusedWith, key)
					s.do(s.state.Preempting(asked, s.version(key), here.Pod, nil, sets.New[types.UID]("victim"), "they leave"))
				}
			},
			"a move is decided": func(t *rapid.T) {
				s.T = t
				if pod := s.anyPod(bound); pod != nil {
					seat := Placement{Pod: successor(pod.Pod), Node: rapid.SampledFrom(s.nodes).Draw(t, "node")}
					s.do(s.state.HoldMove(s.keyOf(pod), []Placement{seat}, s.now.Add(SeatHold), s.now))
				}
			},
			"a move takes longer": func(t *rapid.T) { s.T = t; s.do(s.state.ExtendMove(s.anyGang(), s.now.Add(SeatHold))) },
			"a move is given up":  func(t *rapid.T) { s.T = t; s.do(s.state.EndMove(s.anyGang())) },
			"they have left":      func(t *rapid.T) { s.T = t; s.do(s.state.Left("victim")) },
			"":                    func(t *rapid.T) { s.check(t) },
		})
		s.T = t
		s.do(s.state.Left("victim"))
		s.settle()
		s.check(t)
		s.checkEnd()
	})
}
