package gangstate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// phase is where the scheduler has a pod.
type phase string

const (
	unready   phase = "unready" // A scheduling gate holds it.
	gatedPod  phase = "gated"   // PreEnqueue holds it.
	activePod phase = "active"  // It is taken next.
	parked    phase = "parked"  // It was turned away, and waits for an event.
	told      phase = "told"    // Permit told it to wait, and it is not in the list of waiting pods yet.
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

// String describes what was drawn.
func (m *member) String() string {
	return fmt.Sprintf("%s of %s, %s %s", m.Name, m.Annotations[scheduling.AnnotationPodGroupName], m.phase, m.node)
}

// scheduler is kube-scheduler around a state, on nodes that have room for one pod each, with the API server's events
// under way to it.
type scheduler struct {
	*rapid.T
	state *State
	now   time.Time
	nodes []string
	// objects are the nodes as the API server shows them: some are cordoned.
	objects map[string]*corev1.Node
	groups  map[gang.Key]*scheduling.PodGroup
	pods    map[types.UID]*member
	made    int
	// leaving are deleted pods that were bound, or had a seat, before the event about it has come. moved are pods that
	// got into another gang meanwhile.
	leaving, moved map[types.UID]gang.Key
	// events are changes in the API server before their events have come to the state; heard are changes before they
	// have come to the queue, which asks whether they help a waiting pod. meantime are the changes that the queue heard
	// of while it had a pod taken, and keeps for it.
	events          []func() Effects
	heard, meantime []func(waiting *corev1.Pod) bool
	taking          types.UID
	// bettered counts how often room became free on a node, as decisions see it.
	bettered int
	// refusedWith are the nodes that were free for a gang when it got none.
	refusedWith map[gang.Key][]string
	// held are the seats that the metrics report.
	held int
	// settling is set once nothing happens any more but what follows from what has.
	settling bool
}

func newScheduler(t *rapid.T) *scheduler {
	s := &scheduler{T: t, state: New(anyone, nil), now: start, groups: map[gang.Key]*scheduling.PodGroup{},
		pods: map[types.UID]*member{}, leaving: map[types.UID]gang.Key{},
		moved: map[types.UID]gang.Key{}, refusedWith: map[gang.Key][]string{},
		objects: map[string]*corev1.Node{}}
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
		s.openGate(standing)
		standing.node = node
		s.bind(standing)
	}
	for rapid.Bool().Draw(s.T, "word before the start") && s.lags() {
		s.tell()
	}
	s.do(s.state.Opened(s.now))
}

func (s *scheduler) addNode(name string) {
	s.nodes = append(s.nodes, name)
	s.setNode(nodeNamed(name))
}

// setNode is for a node that is new, or changed.
func (s *scheduler) setNode(node *corev1.Node) {
	before := s.objects[node.Name]
	s.objects[node.Name] = node
	s.bettered++
	s.events = append(s.events, func() Effects { return s.state.nodeSeen(node) })
	s.heard = append(s.heard, func(waiting *corev1.Pod) bool { return s.state.nodeHelps(waiting, before, node) })
}

// cordon cordons a node, or lifts its cordon.
func (s *scheduler) cordon(name string) {
	node := nodeNamed(name)
	node.Spec.Unschedulable = !s.objects[name].Spec.Unschedulable
	s.setNode(node)
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

// taken returns the pod on a node; nil if there is none.
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
	s.held += heldBy(effects)
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
	for _, uids := range []map[types.UID]gang.Key{s.leaving, s.moved} {
		for _, of := range uids {
			if of == key {
				on++
			}
		}
	}
	for _, pod := range s.pods {
		if s.keyOf(pod) == key && (pod.node != "" || s.state.record(key).seatOf(pod.UID) != nil) {
			on++
		}
	}
	needed := int(*s.groups[key].Spec.MinMember)
	require.GreaterOrEqual(s, on, needed, "gang %s is let go with %d of %d pods on nodes", key, on, needed)
}

// unreserve takes a pod off its node, which was being bound or waited to be. The queue hears of it as of any pod that
// leaves.
func (s *scheduler) unreserve(pod *member) {
	onNode := pod.DeepCopy()
	onNode.Spec.NodeName = pod.node
	s.unassume(pod)
	if pod.phase == parked {
		s.enqueue(pod) // After its backoff.
	}
	s.hear(func(waiting *corev1.Pod) bool {
		return waiting.UID != pod.UID && s.state.podHelps(waiting, onNode, unknown)
	})
}

func (s *scheduler) unassume(pod *member) {
	pod.node, pod.phase = "", parked
	s.bettered++
	s.do(s.state.Unassumed(s.keyOf(pod), pod.UID, s.now))
}

// hear has the queue try those again that something helps. For a pod that is taken it keeps it until that is over.
func (s *scheduler) hear(helps func(waiting *corev1.Pod) bool) {
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		if pod := s.pods[uid]; pod != nil && pod.phase == parked && uid != s.taking && helps(pod.Pod) {
			s.enqueue(pod)
		}
	}
	if s.taking != "" {
		s.meantime = append(s.meantime, helps)
	}
}

// take takes a pod through one scheduling cycle.
func (s *scheduler) take(pod *member) {
	s.taking, s.meantime = pod.UID, nil
	s.cycle(pod)
	helps := s.meantime
	s.taking, s.meantime = "", nil
	for _, helped := range helps {
		if s.pods[pod.UID] == pod && pod.phase == parked && helped(pod.Pod) {
			s.enqueue(pod)
		}
	}
}

// cycle is what the plugin does in it.
func (s *scheduler) cycle(pod *member) {
	key := s.keyOf(pod)
	pod.phase = parked
	if s.groups[key] == nil {
		pod.phase = gatedPod
		return
	}
	reply, effects := s.state.Ask(key, s.version(key), pod.UID)
	s.do(effects)
	if reply == (Reply{}) {
		s.decide(key, pod.Pod)
		reply, effects = s.state.Ask(key, s.version(key), pod.UID)
		s.do(effects)
	}
	if reply.Node == "" || pod.phase != parked && pod.phase != activePod {
		return
	}
	if !slices.Contains(s.free(), reply.Node) ||
		reply.Yields && len(s.state.reserved(key, priorityOf(key))[reply.Node]) > 0 {
		s.do(s.state.NodeRefused(key, s.version(key), pod.Pod, "the node does not take it"))
		delete(s.refusedWith, key)
		return
	}
	if reply.Yields && !s.respects(key, pod, reply.Node) {
		return
	}
	onNode := pod.DeepCopy()
	onNode.Spec.NodeName = reply.Node
	wanted, effects := s.state.Assumed(key, onNode, kubeframework.Sharing{})
	s.do(effects)
	if !wanted {
		return
	}
	pod.node, pod.phase = reply.Node, told
	plan := s.state.record(key).plan
	seated := s.state.record(key).assumed[pod.UID].letGo || plan != nil && plan.further
	permission, effects := s.state.Permit(key, pod.UID, s.version(key), "")
	s.do(effects)
	switch permission {
	case Go:
		if pod.phase = binding; !seated {
			s.mayGo(key)
		}
	case Return:
		if s.unassume(pod); pod.phase == parked {
			s.enqueue(pod) // After its backoff.
		}
	case Wait:
	}
}

// respects makes a pod respect seats on a node, and lets it try again if a pod has left the node before the event has
// come.
func (s *scheduler) respects(key gang.Key, pod *member, node string) bool {
	taker := Taker{Gang: key, Priority: priorityOf(key)}
	changed, effects, _ := s.state.Respect(taker, map[string][]*corev1.Pod{node: {pod.Pod}}, s)
	if s.do(effects); changed != "" {
		s.activate([]*corev1.Pod{pod.Pod})
	}
	return changed == ""
}

// free returns the nodes that take a pod.
func (s *scheduler) free() []string {
	return slices.DeleteFunc(slices.Clone(s.nodes),
		func(node string) bool { return s.taken(node) != nil || s.objects[node].Spec.Unschedulable })
}

// question is a gang that is being decided, as it was read.
type question struct {
	*gang.Gang
	version Version
	began   Moment
	// here is the pod that asks for it; nil if none does.
	here *corev1.Pod
	// nodes were free when it was read, and open are the nodes that were not kept from it.
	nodes, open []string
	// kept is set if anything is kept from it that the nodes do not show.
	kept bool
	// mends is set if those of its pods get nodes for which there are some, be it not all that it needs.
	mends bool
}

// seen is what a refusal rests on.
func (q *question) seen() []string {
	if q.kept {
		return append(slices.Clone(q.open), "kept")
	}
	return q.open
}

// read reads a gang; nil if it cannot be planned.
func (s *scheduler) read(key gang.Key, here *corev1.Pod) *question {
	pods := map[types.UID]*corev1.Pod{}
	for uid, pod := range s.pods {
		if s.keyOf(pod) == key {
			pods[uid] = pod.Pod
		}
	}
	for _, pod := range assumedOf(s.state, key) {
		if shown := pods[pod.UID]; shown != nil && gang.Pending(shown) {
			pods[pod.UID] = pod
		}
	}
	read := &question{began: s.state.Now(), version: s.version(key), here: here, nodes: s.free()}
	var held *gang.Hold
	read.Gang, held = gang.AssembleFor(anyone, s.groups[key], slices.Collect(maps.Values(pods)), s.state.levels)
	read.mends = read.Mends() && s.state.Mends(key, s.now)
	if held != nil && (!held.Lacks || !read.mends) {
		return nil
	}
	read.open = s.openTo(read)
	return read
}

// endMove gives up the move of a gang.
func (s *scheduler) endMove(key gang.Key) Effects {
	_, effects := s.state.HoldMove(key, Move{Progress: s.state.known(key).progress.Over()}, nil, s.now)
	return effects
}

func (s *scheduler) openTo(asked *question) []string {
	reserved := s.reservedFrom(asked)
	return slices.DeleteFunc(slices.Clone(asked.nodes), func(node string) bool { return len(reserved[node]) > 0 })
}

// reservedFrom returns all room that a gang has to leave to others.
func (s *scheduler) reservedFrom(asked *question) clusterview.Reserved {
	reserved := s.state.Reserved(asked.Rank(), nil)
	return reserved.Room.And(reserved.Overdue)
}

// overtake has a gang that waits have been overtaken as often as may be, by gangs that rank below all, and reserves the
// first nodes for it.
func (s *scheduler) overtake(key gang.Key) {
	last := gang.Rank{Gang: gang.Key{Name: "last"}, Since: s.now.Add(time.Hour), Priority: -1}
	taking := Taking{Rank: last, Asks: sets.New("pods")}
	if waits := s.state.known(key).overtaken; waits != nil {
		for range MaxOvertakes {
			waits.pass(taking)
		}
	}
	if overdue, _ := s.state.Overdue(taking); overdue != key || s.groups[key] == nil {
		return
	}
	asked := s.read(key, nil)
	if asked == nil {
		return
	}
	var placements []Placement
	for i, pod := range asked.Pending[:min(len(asked.Pending), len(s.nodes))] {
		placements = append(placements, Placement{Pod: pod, Node: s.nodes[i]})
	}
	s.do(s.state.ReserveOverdue(key, placements, countedOn(len(placements)), s.now, time.Minute))
}

// decide gives a gang free nodes, if there are as many as it needs. It does not look again at nodes on which it has
// found no place, as long as the state says that the gang is the same.
func (s *scheduler) decide(key gang.Key, here *corev1.Pod) {
	asked := s.read(key, here)
	if asked == nil {
		return
	}
	refusedWith, refused := s.refusedWith[key]
	asked.kept = s.keptFrom(asked)
	if refused && s.state.View(key).Current(asked.version) != nil && slices.Equal(asked.seen(), refusedWith) {
		return
	}
	answer, placements := s.answer(asked)
	for again := true; again; {
		var yields bool
		if again, yields = s.planAhead(asked, placements); yields {
			s.activate([]*corev1.Pod{here})
			return
		}
		if again {
			answer, placements = s.answer(asked)
		}
	}
	s.account(asked, answer, placements)
	if len(placements) == 0 {
		_, effects := s.state.Refused(asked.Gang, asked.version, here, answer, asked.began)
		s.do(effects)
		s.refusedWith[key] = asked.seen()
		return
	}
	if !s.open(asked, answer, placements) {
		s.activate([]*corev1.Pod{here})
	}
}

// answer decides a gang on the nodes that nothing keeps from it.
func (s *scheduler) answer(asked *question) (*solve.Answer, []Placement) {
	asked.open = s.openTo(asked)
	asked.kept = s.keptFrom(asked)
	s.meanwhile(asked.Key())
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{}}
	count := min(len(asked.open), len(asked.Pending))
	further := asked.Satisfied(gang.NoPending)
	if further {
		count -= count % together(asked.Key())
	}
	var placements []Placement
	for i, pod := range asked.Pending[:count] {
		answer.Nodes[pod.Name] = asked.open[i]
		placements = append(placements, Placement{Pod: pod, Node: asked.open[i], Place: PlaceOf(nil, nil)})
	}
	switch {
	case asked.Satisfied(func(pod *corev1.Pod) bool { return answer.Nodes[pod.Name] != "" }) && count > 0:
		return answer, placements
	case asked.mends && count > 0:
		answer.Verdict, answer.Message = scheduling.ReasonInfeasible, "no room for all"
		return answer, placements
	case further:
		answer = &solve.Answer{Verdict: scheduling.ReasonPlaced, Message: "no room for more"}
	default:
		answer = &solve.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}
	}
	answer.Basis = basis(asked.kept)
	return answer, nil
}

// keptFrom reports whether anything is kept from a gang that the nodes do not show.
func (s *scheduler) keptFrom(asked *question) bool {
	for node, pods := range s.reservedFrom(asked) {
		shown := s.taken(node)
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return shown == nil || shown.UID != pod.UID }) {
			return true
		}
	}
	return false
}

// basis is one of nodes alone, and of what is kept for others if that had a say.
func basis(reserved bool) clusterview.Basis {
	trial, err := clusterview.New(nil).Begin(nil, nil)
	if err != nil {
		panic(err)
	}
	if reserved {
		if err := trial.Reserve(clusterview.Reserved{"node": {pod("reserved")}}); err != nil {
			panic(err)
		}
	}
	return trial.Basis()
}

func (s *scheduler) account(asked *question, answer *solve.Answer, placements []Placement) {
	if answer.Verdict == scheduling.ReasonPlaced || len(placements) > 0 {
		return
	}
	claim := Claim{Rank: asked.Rank(), Scarce: []string{"pods"}}
	s.do(s.state.DidNotFit(asked.Gang, claim, s.bettered, asked.began, nil))
}

func takingOf(asked *question, placements []Placement) Taking {
	taking := Taking{Rank: asked.Rank()}
	if len(placements) > 0 {
		taking.Asks = sets.New("pods")
	}
	return taking
}

// open makes an answer the plan of its gang, and reports whether it is as good as when the gang was read.
func (s *scheduler) open(asked *question, answer *solve.Answer, placements []Placement) bool {
	taking := takingOf(asked, placements)
	if answer.Verdict != scheduling.ReasonPlaced {
		asked.Gang = asked.Mending()
	}
	s.do(s.state.Planned(asked.Gang, asked.version, asked.here, answer, placements, taking, s.now))
	changed, effects := s.state.Confirm(asked.Gang, asked.version, placements, s)
	s.do(effects)
	return changed == ""
}

// planAhead plans a gang that has its turn before another takes room, and reports whether there is one. The other one
// yields after one that does not fit.
func (s *scheduler) planAhead(asked *question, placements []Placement) (planned, yields bool) {
	for tried := 0; len(placements) > 0; tried++ {
		taking := takingOf(asked, placements)
		first := s.turn(taking.Rank, s.bettered)
		key, yields := s.state.Ahead(taking, s.bettered, tried == 0)
		if tried == 0 {
			s.checkTurn(key, first, taking.Rank)
		}
		if yields || key == (gang.Key{}) {
			return false, yields
		}
		if s.planWaiting(key, asked.nodes) {
			return true, false
		}
	}
	return false, false
}

// planWaiting plans a gang that waits, without a pod of it here, on nodes as they were.
func (s *scheduler) planWaiting(key gang.Key, nodes []string) bool {
	if s.groups[key] == nil {
		return false // Word of that is on its way.
	}
	asked := s.read(key, nil)
	if asked == nil {
		return false
	}
	asked.nodes = nodes
	answer, placements := s.answer(asked)
	s.account(asked, answer, placements)
	return len(placements) > 0 && s.open(asked, answer, placements)
}

// turn returns the gang that has its turn before another: the first of the gangs that were not tried in this state of
// the room, and are not planned; nil if there is none.
func (s *scheduler) turn(other gang.Rank, room int) (first *record) {
	for _, r := range s.state.waiting {
		rank := r.overtaken.claim.Rank
		if r.overtaken.tried < room && s.hasTurnBefore(rank, other) && len(r.nodes()) == 0 &&
			(first == nil || rank.Compare(first.overtaken.claim.Rank) < 0) {
			first = r
		}
	}
	return first
}

// checkTurn fails unless the gang that is ahead is the one that has its turn before the other. It is the zero key if
// there is none.
func (s *scheduler) checkTurn(ahead gang.Key, first *record, other gang.Rank) {
	switch {
	case first == nil && ahead == gang.Key{}:
	case first == nil || ahead != first.key:
		s.Fatalf("it is the turn of %q before %+v, not that of %+v", ahead, other, first)
	case s.hasTurnBefore(other, first.overtaken.claim.Rank):
		s.Fatalf("%+v and %+v are each to go before the other", first.overtaken.claim.Rank, other)
	}
}

// hasTurnBefore compares turns as documented: the higher priority first; then a gang with running pods that lacks
// others; then a gang without room held elsewhere; then the older one; then the first name.
func (s *scheduler) hasTurnBefore(one, other gang.Rank) bool {
	moves := func(rank gang.Rank) int {
		seats, _ := s.state.moveSeats(rank.Gang)
		return min(1, len(seats))
	}
	begun := func(rank gang.Rank) int {
		if rank.Begun {
			return 0
		}
		return 1
	}
	return one.Gang != other.Gang && cmp.Or(cmp.Compare(other.Priority, one.Priority),
		cmp.Compare(begun(one), begun(other)), cmp.Compare(moves(one), moves(other)), one.Since.Compare(other.Since),
		cmp.Compare(one.Gang.Name, other.Gang.Name)) < 0
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

// left reports whether a pod has left its node, as the API server shows it.
func (s *scheduler) left(pod *corev1.Pod) bool {
	now := s.Pod(pod)
	return now == nil || !gang.Standing(now) && !gang.Pending(now)
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
	happens := rapid.SampledFrom([]string{"", "", "created", "deleted", "failed", "changed", "gone", "cordon"})
	switch happens.Draw(s.T, "meanwhile") {
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
	case "cordon":
		s.cordon(rapid.SampledFrom(s.nodes).Draw(s.T, "node"))
	default:
		return
	}
	for all := rapid.Bool().Draw(s.T, "word of all"); s.lags() && (all || rapid.Bool().Draw(s.T, "word")); {
		s.tell()
	}
}

// lags reports whether word is under way.
func (s *scheduler) lags() bool { return len(s.events)+len(s.heard) > 0 }

// tell has word of the oldest change come to the state, or to the queue.
func (s *scheduler) tell() {
	if len(s.heard) > 0 && (len(s.events) == 0 || rapid.Bool().Draw(s.T, "to the queue")) {
		helps := s.heard[0]
		s.heard = s.heard[1:]
		s.hear(helps)
	} else if len(s.events) > 0 {
		event := s.events[0]
		s.events = s.events[1:]
		s.do(event())
	}
}

func (s *scheduler) setGroup(key gang.Key, group *scheduling.PodGroup) {
	old := s.groups[key]
	if group == nil {
		delete(s.groups, key)
		s.events = append(s.events, func() Effects { return s.state.groupDeleted(old, s.now) })
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
		group.UID, group.Generation, group.Status = old.UID, old.Generation+1, old.Status
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

// refused reports whether the last answer for a gang is that it has no place.
func (s *scheduler) refused(key gang.Key) bool {
	last := s.state.View(key).Last
	return last != nil && last.Verdict == scheduling.ReasonInfeasible
}

// writeStatus has the status of a PodGroup say whether its gang has what it needs.
func (s *scheduler) writeStatus(key gang.Key) {
	if s.groups[key] == nil {
		return
	}
	standing := 0
	for _, pod := range s.pods {
		if s.keyOf(pod) == key && pod.phase == bound {
			standing++
		}
	}
	group := s.groups[key].DeepCopy()
	condition := metav1.Condition{Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse,
		Reason: scheduling.ReasonWaiting, LastTransitionTime: metav1.NewTime(s.now)}
	switch {
	case standing >= int(*group.Spec.MinMember):
		condition.Status, condition.Reason = metav1.ConditionTrue, scheduling.ReasonPlaced
	case standing > 0 && (gang.HasStarted(group) || s.refused(key)):
		condition.Reason = scheduling.ReasonBelowMinimum
	}
	group.Status.Conditions = []metav1.Condition{condition}
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
	created := &member{Pod: made, phase: unready}
	s.pods[made.UID] = created
	if rapid.IntRange(0, 3).Draw(s.T, "gate") == 0 {
		made.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
	}
	s.events = append(s.events, func() Effects { return s.state.added(made, s.now) })
	if len(made.Spec.SchedulingGates) == 0 {
		s.enqueue(created)
	}
	return created
}

// openGate removes the scheduling gate of a pod that has one.
func (s *scheduler) openGate(pod *member) {
	if pod.phase == unready {
		s.update(pod, func(now *corev1.Pod) { now.Spec.SchedulingGates = nil })
		s.enqueue(pod)
	}
}

func (s *scheduler) bind(pod *member) {
	old := pod.Pod
	pod.Pod = old.DeepCopy()
	pod.Spec.NodeName = pod.node
	pod.phase = bound
	now := pod.Pod
	s.events = append(s.events, func() Effects { return s.state.PodChanged(old, now, s.now) })
}

// bindElsewhere binds a pod as another program would, be it on its way to another node or not. The scheduler notices
// that the pod leaves that node before the event of the binding comes, or afterwards.
func (s *scheduler) bindElsewhere(pod *member) {
	reserved := s.state.reserved(gang.Key{}, math.MinInt32)
	free := slices.DeleteFunc(s.free(), func(node string) bool { return len(reserved[node]) > 0 })
	if len(free) == 0 || len(s.leaving) > 0 {
		return // The other program does not look at seats, and events about some may not have come.
	}
	comesOff := func() Effects { return Effects{} }
	if on := gang.On(pod.node, pod.Pod); pod.node != "" {
		comesOff = func() Effects {
			s.bettered++
			effects := s.state.Unassumed(s.keyOf(pod), pod.UID, s.now)
			s.heard = append(s.heard, func(waiting *corev1.Pod) bool { return s.state.podHelps(waiting, on, unknown) })
			return effects
		}
	}
	pod.node = rapid.SampledFrom(free).Draw(s.T, "node")
	if rapid.Bool().Draw(s.T, "word comes first") {
		s.bind(pod)
		s.events = append(s.events, comesOff)
	} else {
		pod.phase = bound
		s.do(comesOff())
		s.bind(pod)
	}
	for s.lags() { // Before that others may take a node for free.
		s.tell()
	}
}

// regroup has a pod get into another gang.
func (s *scheduler) regroup(pod *member) {
	key := s.anyGang()
	if key == s.keyOf(pod) || priorityOf(key) != priorityOf(s.keyOf(pod)) {
		return
	}
	if pod.node != "" || s.state.record(s.keyOf(pod)).seatOf(pod.UID) != nil {
		s.moved[pod.UID] = s.keyOf(pod)
	}
	s.update(pod, func(now *corev1.Pod) {
		now.Annotations = map[string]string{scheduling.AnnotationPodGroupName: key.Name}
	})
	tell := s.events[len(s.events)-1]
	s.events[len(s.events)-1] = func() Effects { delete(s.moved, pod.UID); return tell() }
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
	s.events = append(s.events, func() Effects {
		delete(s.leaving, gone.UID)
		return s.state.deleted(gone, s.now)
	})
	s.roomLeft(gone)
}

// roomLeft has the queue hear that a pod is gone.
func (s *scheduler) roomLeft(gone *corev1.Pod) {
	if gone.Spec.NodeName != "" {
		s.bettered++
		s.heard = append(s.heard, func(waiting *corev1.Pod) bool { return s.state.podHelps(waiting, gone, unknown) })
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
	s.roomLeft(pod.Pod)
}

func (s *scheduler) update(pod *member, change func(*corev1.Pod)) {
	old, now := pod.Pod, pod.DeepCopy()
	change(now)
	pod.Pod = now
	s.events = append(s.events, func() Effects {
		if gang.Standing(old) && !gang.Standing(now) {
			delete(s.leaving, now.UID)
		}
		return s.state.PodChanged(old, now, s.now)
	})
}

// loseNode takes away a node, and has the pods go that were bound to it.
func (s *scheduler) loseNode(node string) {
	s.nodes = slices.DeleteFunc(s.nodes, func(other string) bool { return other == node })
	if pod := s.taken(node); pod != nil && (pod.phase == bound || pod.phase == leaving) {
		s.deletePod(pod)
	}
	before := s.objects[node]
	s.events = append(s.events, func() Effects { return s.state.nodeGone(node) })
	s.heard = append(s.heard, func(waiting *corev1.Pod) bool { return s.state.nodeHelps(waiting, before, nil) })
}

// failBinding has the binding of a pod come to nothing, for the sake of its node or for no reason of its own.
func (s *scheduler) failBinding(pod *member, refused bool) {
	if refused || !slices.Contains(s.nodes, pod.node) {
		s.state.Misplaced(s.keyOf(pod), pod.UID, nil)
	}
	s.unreserve(pod)
}

func (s *scheduler) tick(after time.Duration) {
	s.now = s.now.Add(after)
	s.do(s.state.Tick(s.now))
}

// check holds after each event.
func (s *scheduler) check(t *rapid.T) {
	checkReservations(t, s.state, s.now, s.held, func(node string) []*corev1.Pod {
		if pod := s.taken(node); pod != nil && !s.strayed(pod) {
			return []*corev1.Pod{pod.Pod}
		}
		return nil
	})
}

// strayed reports whether a pod waits on a node for a gang in which it is not any more: it comes back from there, and the
// seat that it would have filled is held again.
func (s *scheduler) strayed(pod *member) bool {
	return (pod.phase == told || pod.phase == waits) && s.state.known(s.keyOf(pod)).assumed[pod.UID] == nil
}

// settle lets everything come to its end.
func (s *scheduler) settle() {
	s.settling = true
	for range 500 {
		for s.lags() {
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
		case next == nil && s.lags():
		case next == nil:
			s.checkSeats()
			if s.now.Sub(start) > 1000*time.Hour {
				return
			}
			s.now = s.now.Add(1000 * time.Hour)
			s.do(s.state.Tick(s.now))
		case next.phase == activePod:
			s.take(next)
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

// checkSeats holds when nothing is under way: no seat of a gang that stands is empty while a pod waits that it is for.
// It would be lost to others when its time is over.
func (s *scheduler) checkSeats() {
	for key, r := range s.state.gangs {
		asked := s.groups[key]
		if mends := r.begun && s.state.Mends(key, s.now); asked == nil || !mends && !r.satisfied(s.state) {
			continue
		}
		for _, seat := range r.seats() {
			at := seat.placement()
			waiting := slices.ContainsFunc(slices.Collect(maps.Values(s.pods)), func(pod *member) bool {
				return s.keyOf(pod) == key && pod.phase == parked && gang.LeafOf(pod.Pod) == gang.LeafOf(at.Pod)
			})
			if read := s.read(key, nil); waiting && read != nil && slices.Contains(read.open, at.Node) {
				s.Errorf("%s waits, and the seat of %s on %s is free", key, at.Pod.Name, at.Node)
			}
		}
	}
}

// satisfied reports whether a gang has what it needs, and takes further pods one by one.
func (r *record) satisfied(s *State) bool {
	tree, _ := s.parse(r)
	return tree != nil && together(r.key) == 1 && r.members.Placed() && !r.members.Begun(tree)
}

// checkEnd holds when nothing is under way any more.
func (s *scheduler) checkEnd() {
	for key, r := range s.state.gangs {
		if r.plan != nil || len(r.assumed) > 0 || len(r.waiting()) > 0 {
			s.Errorf("gang %s has a plan, or pods on their way, although nothing is under way", key)
		}
		if slices.ContainsFunc(r.kept, func(v *reservation) bool { return v.purpose != cleared || v.isOverdue() }) {
			s.Errorf("room is kept for gang %s although nobody comes", key)
		}
	}
	free := len(s.free())
	for key, group := range s.groups {
		standing, pending := 0, 0
		for _, pod := range s.pods {
			switch {
			case s.keyOf(pod) != key:
			case pod.phase == bound:
				standing++
			case pod.phase == over || pod.phase == unready:
			default:
				pending++
			}
		}
		needed := int(*group.Spec.MinMember)
		assert.False(s, s.state.View(key).Waits && standing >= needed,
			"others wait for gang %s, of which %d of %d pods stand", key, standing, needed)
		room := free - len(s.state.reserved(key, priorityOf(key)))
		if asked := s.read(key, nil); asked != nil {
			room = len(asked.open)
		}
		least := max(needed-standing, together(key))
		if standing > 0 && standing < needed && s.state.Mends(key, s.now) {
			least = 1
		}
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
		assert.True(s, known, "gang %s is remembered, and there is nothing left of it", key)
	}
}

// actions are all that can happen.
func (s *scheduler) actions() map[string]func(*rapid.T) {
	on := func(event func(pod *member), phases ...phase) func(*rapid.T) {
		return func(t *rapid.T) {
			s.T = t
			if pod := s.anyPod(phases...); pod != nil {
				event(pod)
			}
		}
	}
	return map[string]func(*rapid.T){
		"a PodGroup is made or changed": func(t *rapid.T) { s.T = t; s.changeGroup(s.anyGang()) },
		"a status is written":           func(t *rapid.T) { s.T = t; s.writeStatus(s.anyGang()) },
		"a PodGroup is deleted": func(t *rapid.T) {
			s.T = t
			if key := s.anyGang(); s.groups[key] != nil {
				s.setGroup(key, nil)
			}
		},
		"a pod is created":       func(t *rapid.T) { s.T = t; s.createPod(s.anyGang()) },
		"another pod is created": func(t *rapid.T) { s.T = t; s.createPod(s.anyGang()) },
		"a gate is opened":       on(s.openGate, unready),
		"a pod is deleted": on(s.deletePod, unready, gatedPod, activePod, parked, told, waits, binding, bound,
			leaving, over),
		"a pod that stands is deleted":          on(s.deletePod, bound),
		"a pod is on its way out":               on(s.stopPod, bound),
		"a pod fails":                           on(s.failPod, bound),
		"a pod is taken":                        on(s.take, activePod),
		"another pod is taken":                  on(s.take, activePod),
		"a pod gets into the list":              on(func(pod *member) { pod.phase = waits; s.tick(sweepAfter) }, told),
		"somebody else binds a pod":             on(s.bindElsewhere, gatedPod, activePod, parked),
		"somebody else binds one on its way":    on(s.bindElsewhere, told, waits, binding),
		"a pod gets into another gang":          on(s.regroup, unready, gatedPod, activePod, parked, bound),
		"one on its way gets into another gang": on(s.regroup, told, waits, binding),
		"a pod has waited for too long":         on(s.unreserve, waits),
		"a pod is bound":                        on(s.bind, binding),
		"a binding fails":                       on(func(pod *member) { s.failBinding(pod, false) }, binding),
		"a node turns out to be another":        on(func(pod *member) { s.failBinding(pod, true) }, binding),
		"word comes":                            func(t *rapid.T) { s.T = t; s.tell() },
		"word comes of something else, too":     func(t *rapid.T) { s.T = t; s.tell() },
		"a node goes": func(t *rapid.T) {
			if s.T = t; len(s.nodes) > 1 {
				s.loseNode(rapid.SampledFrom(s.nodes).Draw(t, "node"))
			}
		},
		"a node comes": func(t *rapid.T) {
			s.T = t
			s.made++
			s.addNode(fmt.Sprint("m", s.made))
		},
		"a node is cordoned, or no more": func(t *rapid.T) {
			s.T = t
			s.cordon(rapid.SampledFrom(s.nodes).Draw(t, "node"))
		},
		"a plan is broken": func(t *rapid.T) { s.T = t; s.do(s.state.Break(s.anyGang(), Preempted, "test")) },
		"time passes": func(t *rapid.T) {
			s.T = t
			s.tick(cmp.Or(rapid.SampledFrom([]time.Duration{time.Second, SeatLife, followersWait}).Draw(t, "time"),
				time.Second))
		},
		"a gang is overtaken": func(t *rapid.T) { s.T = t; s.overtake(s.anyGang()) },
		"others leave for a gang": func(t *rapid.T) {
			s.T = t
			key := s.anyGang()
			if group, here := s.groups[key], s.anyPod(parked); group != nil && here != nil && s.keyOf(here) == key &&
				len(s.state.nodeOf(key)) == 0 {
				asked := &gang.Gang{PodGroup: group, Pending: []*corev1.Pod{here.Pod}}
				delete(s.refusedWith, key)
				awaited := sets.New[types.UID]("victim")
				_, effects := s.state.Preempting(asked, s.version(key), here.Pod, nil, awaited, "they leave", s)
				s.do(effects)
			}
		},
		"a move is decided": func(t *rapid.T) {
			s.T = t
			reserved := s.state.reserved(gang.Key{}, math.MinInt32)
			free := slices.DeleteFunc(s.free(), func(node string) bool { return len(reserved[node]) > 0 })
			if pod := s.anyPod(bound); pod != nil && len(free) > 0 {
				move := Move{Until: s.now.Add(SeatHold), Began: s.state.Now()}
				move.Seats = []Placement{{Pod: gang.Replacement(pod.Pod), Node: rapid.SampledFrom(free).Draw(t, "node")}}
				for s.lags() && rapid.Bool().Draw(t, "word before it is held") {
					s.tell()
				}
				_, effects := s.state.HoldMove(s.keyOf(pod), move, s.left, s.now)
				s.do(effects)
			}
		},
		"a move takes longer": func(t *rapid.T) {
			s.T = t
			if group := s.groups[s.anyGang()]; group != nil {
				move := s.state.MoveOf(group)
				move.Until = s.now.Add(SeatHold)
				s.do(s.state.Proceed(keyOf(group), move))
			}
		},
		"a move is given up": func(t *rapid.T) { s.T = t; s.do(s.endMove(s.anyGang())) },
		"they have left":     func(t *rapid.T) { s.T = t; s.do(s.state.deleted(pod("victim"), s.now)) },
		"":                   func(t *rapid.T) { s.check(t) },
	}
}

// Events come in any order and with any delay: no room is given twice, no gang starts with less than it needs, nothing
// is kept without a reason, and in the end no gang is forgotten, and none is waited for that has its nodes. A gang
// takes room that another waits for only after the other had its turn.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScheduler(t)
		s.begin()
		s.play(t, s.actions())
	})
}

// The same of gangs that all wait for the same few nodes, where hardly anything happens but that some of these get free:
// of all histories only few are like that.
func TestHistoriesOfAFullCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScheduler(t)
		s.do(s.state.Opened(s.now))
		for _, name := range gangNames {
			key := gang.Key{Namespace: "default", Name: name}
			s.changeGroup(key)
			for range rapid.IntRange(1, 4).Draw(t, "pods") {
				s.createPod(key)
			}
		}
		for s.lags() {
			s.tell()
		}
		actions := s.actions()
		maps.DeleteFunc(actions, func(name string, _ func(*rapid.T)) bool {
			return name != "" && !slices.Contains(inAFullCluster, name)
		})
		s.play(t, actions)
	})
}

var inAFullCluster = []string{
	"a pod that stands is deleted", "a pod is created", "a pod is taken", "another pod is taken", "a pod is bound",
	"a pod gets into the list", "word comes", "word comes of something else, too", "a node is cordoned, or no more",
	"a move is decided", "a binding fails", "a gang is overtaken", "somebody else binds one on its way",
	"one on its way gets into another gang", "a status is written",
}

func (s *scheduler) play(t *rapid.T, actions map[string]func(*rapid.T)) {
	t.Repeat(actions)
	s.T = t
	s.do(s.state.deleted(pod("victim"), s.now))
	s.settle()
	s.check(t)
	s.checkEnd()
}

// Waiting gangs, some with lost pods, and some with room held elsewhere: among the gangs that were not tried since room
// became free, the one that is ahead is the one that has its turn.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScheduler(t)
		var ranks []gang.Rank
		for _, name := range append(gangNames, "d") {
			rank := gang.Rank{
				Gang: gang.Key{Namespace: "default", Name: name}, Begun: rapid.Bool().Draw(t, "begun"),
				Priority: rapid.Int32Range(0, 1).Draw(t, "priority"),
				Since:    start.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "younger"))),
			}
			ranks = append(ranks, rank)
			s.changeGroup(rank.Gang)
			for s.lags() {
				s.tell()
			}
			if rapid.IntRange(0, 3).Draw(t, "waits") > 0 {
				tried := rapid.IntRange(0, 1).Draw(t, "tried")
				claim := Claim{Rank: rank, Scarce: []string{"pods"}}
				s.state.DidNotFit(&gang.Gang{PodGroup: s.groups[rank.Gang]}, claim, tried, s.state.Now(), nil)
			}
			if rapid.Bool().Draw(t, "moves") {
				move := Move{Until: s.now.Add(SeatHold), Began: s.state.Now()}
				move.Seats = []Placement{{Pod: pod("successor of " + name), Node: s.nodes[0]}}
				s.state.HoldMove(rank.Gang, move, s.left, s.now)
			}
		}
		other := rapid.SampledFrom(ranks).Draw(t, "takes room")
		first := s.turn(other, 1)
		ahead, _ := s.state.Ahead(Taking{Rank: other, Asks: sets.New("pods")}, 1, true)
		s.checkTurn(ahead, first, other)
	})
}

// unknown is for nodes that have room for one pod each: any pod that leaves helps.
func unknown(string) packing.Resources { return nil }
