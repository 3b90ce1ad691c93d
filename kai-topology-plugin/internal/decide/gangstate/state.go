// Package gangstate keeps what the scheduler knows of each gang: one record per gang, under one lock.
//
// A record has the pods of the gang and the pods that PreEnqueue holds, the request of its PodGroup, the planned nodes,
// the last answer, its victims, the progress of a move, and how often others took room that it waits for. All room that
// is kept for it is in one ledger, see reservation; State.Reserved says what other gangs have to leave to it. Each
// event is reported by a call of one method, which returns what to do about it: see Effects. Nothing here calls other
// components, and the time is always an argument, so that whole histories of a gang can be played through in a test.
//
// It is memory only: what a process forgets when it ends is planned anew. Seats alone outlive it, in the status of
// PodGroups.
package gangstate

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// State is what is known of all gangs. Its methods may be called at any time from any goroutine, and each may be
// called twice.
type State struct {
	// ours says which schedulers' pods are placed here.
	ours func(scheduler string) bool
	// avoids says which nodes the pods like one may not go to any more, since their kubelets rejected one; nil if there
	// are none.
	avoids func(pod *corev1.Pod, node string) bool

	mu    sync.RWMutex
	gangs map[gang.Key]*record
	// holding are the records of gangs with kept room, with pods on their way or with a time to come; waiting are the
	// records of gangs that were tried and do not fit. Other records are looked up by key only.
	holding, waiting map[gang.Key]*record
	// related are the gangs that look at each other, by gang.IndexKeys.
	related map[gang.Key]sets.Set[gang.Key]
	// topologies are the levels of each Topology, and edition counts their changes.
	topologies map[string]podgrouptree.Hierarchy
	edition    int
	// opened is set once all PodGroups, Topologies and pods that there were at the start are known.
	opened bool
	// repairsPlanned is set once repairs have been planned.
	repairsPlanned bool
	// edits counts changes of gangs and their pods, vacancies the pods that have left a seat, and openings how often
	// gangs that do not fit were asked to try again.
	edits, vacancies, openings int64
	// nodes are the present nodes.
	nodes map[string]*corev1.Node
	// standing are the pods that stand, or have been put on a node, by their node.
	standing map[string]map[types.UID]*corev1.Pod
	// turnedAway are the pods that were kept from room which is reserved.
	turnedAway map[types.UID]*corev1.Pod
	// astray are pods that wait on a node for a gang in which they are not any more.
	astray sets.Set[types.UID]
}

// record is what is known of one gang.
type record struct {
	key gang.Key
	// forgotten is set once the gang has another record, or none.
	forgotten bool
	// members are its pods as the API server shows them, and gated the pods that PreEnqueue holds.
	members *gang.Members
	gated   map[types.UID]*corev1.Pod
	// held is set if the gang could not be planned when it was changed last, and pods that PreEnqueue does not hold were
	// left where they were.
	held bool
	// early are pods that asked before the event about them came: code that wakes the members of the gang does not know
	// them.
	early sets.Set[types.UID]

	// podGroup is nil as long as there is none.
	podGroup *scheduling.PodGroup
	parsed   parsed
	// begun is set if pods of the gang stand, but not all that it needs. The queue asks for it far more often than it
	// changes.
	begun bool

	plan *plan
	// owes is set if others have not heard of the room of its last plan, because the gang is to be planned anew in
	// a moment.
	owes bool
	// assumed are pods that the scheduler has put on a node, until the API server shows them there.
	assumed map[types.UID]*assumed
	// kept is the room that is kept for the gang and its followers.
	kept []*reservation
	// done are the completed pods that still exist.
	done map[types.UID]*corev1.Pod
	// claims are claims of pods on their way to a node, with volumes that are not provisioned yet or devices to be
	// prepared.
	claims map[types.UID]string
	// ranks are those of pods that are being bound.
	ranks map[types.UID]int

	last *answer
	// edited is the number of the last edit that concerns the gang: its own, or one of a gang that it depends on.
	edited int64
	// preempting is the preemption for the gang; nil if there is none.
	preempting *preempting
	// overtaken has what the gang waits for, and the gangs that took it; nil if it does not wait.
	overtaken *overtaken

	// yields is how often gangs ahead were let go first since the gang was placed last.
	yields int

	// stays is set once the last seat of a move was given up, until it turns out that the gang is not moved again.
	stays bool
	// complete is since when the gang has had all pods that it needs; zero if that was reported.
	complete time.Time

	ofPodGroup
}

// ofPodGroup is what is known of the gang of one PodGroup. It ends with that.
type ofPodGroup struct {
	attempts attempts
	// ended counts the deleted pods that had done their work, by their leaf.
	ended map[string]int
	// delayed is since when the gang has waited for room to become free by itself, and delayEnds when it has waited
	// for long enough; the zero time if it need not be activated then.
	delayed, delayEnds time.Time
	// leading is its wait for the pods of its followers.
	leading leading
	// planned is when room was first kept for pods that it is expected to have.
	planned time.Time
	// placement is how close together its pods were placed when it was planned last; nil if that is not known, or it
	// prefers no level.
	placement *scheduling.PlacementStatus
	// repair is what is done about pods that it has lost, and progress how far its move has come.
	repair   Repair
	progress Progress
}

// parsed is a PodGroup as it was read.
type parsed struct {
	podGroup *scheduling.PodGroup
	edition  int
	// tree is nil if the PodGroup is invalid; hold says what keeps the gang from being planned whatever pods it has.
	tree *podgrouptree.Tree
	hold *gang.Hold
}

// New returns the state of no gang. Ours says which schedulers' pods are placed here. No seat is held on a node that
// the pods like one avoid; avoids may be nil.
func New(ours func(scheduler string) bool, avoids func(pod *corev1.Pod, node string) bool) *State {
	return &State{
		ours: ours, avoids: avoids,
		gangs: map[gang.Key]*record{}, holding: map[gang.Key]*record{}, waiting: map[gang.Key]*record{},
		related: map[gang.Key]sets.Set[gang.Key]{}, topologies: map[string]podgrouptree.Hierarchy{},
		nodes: map[string]*corev1.Node{}, standing: map[string]map[types.UID]*corev1.Pod{},
		turnedAway: map[types.UID]*corev1.Pod{}, astray: sets.Set[types.UID]{},
	}
}

// record returns that of a gang, a new one if there is none.
func (s *State) record(key gang.Key) *record {
	known := s.gangs[key]
	if known == nil {
		known = &record{
			key: key, members: gang.NewMembers(),
			gated: map[types.UID]*corev1.Pod{}, early: sets.Set[types.UID]{}, assumed: map[types.UID]*assumed{},
			ranks: map[types.UID]int{}, claims: map[types.UID]string{}, done: map[types.UID]*corev1.Pod{},
		}
		s.gangs[key] = known
	}
	return known
}

// known returns the record of a gang, or an empty one that is not stored.
func (s *State) known(key gang.Key) *record {
	if known := s.gangs[key]; known != nil {
		return known
	}
	return &record{key: key, members: gang.NewMembers()}
}

// change runs an event on the record of a gang, and keeps the indices in step with it.
func (s *State) change(key gang.Key, event func(r *record, e *Effects)) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.record(key)
	event(r, &effects)
	s.tidy(r)
	return effects
}

// tidy forgets what says nothing any more, and brings the indices in step with a record.
func (s *State) tidy(r *record) {
	index(s.holding, r, r.plan != nil || len(r.assumed) > 0 || len(r.kept) > 0 || r.preempting != nil || r.stays ||
		r.inTime())
	index(s.waiting, r, r.overtaken != nil)
	indexed := s.holding[r.key] != nil || s.waiting[r.key] != nil
	if r.podGroup == nil && r.members.Len() == 0 && len(r.gated) == 0 && !indexed && len(r.done) == 0 {
		delete(s.gangs, r.key)
		r.forgotten = true
	}
}

func index(records map[gang.Key]*record, r *record, in bool) {
	if in {
		records[r.key] = r
	} else {
		delete(records, r.key)
	}
}

// Opened records that all PodGroups, Topologies and pods that there were at the start are known. Up to then all gangs
// are held: one that came into the queue between the moment in which the last cache was filled and this one would be
// taken before others that rank above it. All that are ready go at once, so that the queue puts them in order.
func (s *State) Opened(now time.Time) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = true
	for _, r := range s.gangs {
		s.markBegun(r)
		s.restoreSeats(&effects, r, now)
		s.restoreEnded(r)
		s.tidy(r)
	}
	for _, r := range s.gangs {
		s.admit(&effects, r, now)
	}
	return effects
}

// Tick gives the time. Effects.Again says when it is to be given.
func (s *State) Tick(now time.Time) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callBack(&effects)
	for _, r := range s.holding {
		s.expire(&effects, r, now)
		s.sweep(&effects, r)
		r.allowRiders(&effects)
		s.endWaits(&effects, r, now)
		s.mendStaying(&effects, r, now)
		s.tidy(r)
	}
	return effects
}
