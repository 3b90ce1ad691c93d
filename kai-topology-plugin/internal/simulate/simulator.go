// Package simulate runs streams of gangs on a cluster in virtual time. Gangs arrive, wait, run and end; nodes fail and
// return. Who goes first, who may overtake, who has to leave and which node a pod gets is decided by the scheduler's own
// code; nothing here depends on a clock, so that the same input gives the same answer.
package simulate

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/overtaking"
	"packtree.dev/kai-topology-plugin/internal/preemption"
	"packtree.dev/kai-topology-plugin/internal/solve"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Decider decides a gang that can be planned.
type Decider interface {
	Decide(ctx context.Context, request solve.Request) (*decision.Answer, error)
}

// Ours is the scheduler's own Decider.
type Ours struct{}

// Decide answers a request as the plugin does.
func (Ours) Decide(ctx context.Context, request solve.Request) (*decision.Answer, error) {
	return solve.Solve(ctx, request)
}

// Options say how to simulate.
type Options struct {
	// Until ends the simulation, in seconds; 0 lets it go on until nothing more happens.
	Until float64
	// Decider is asked for each decision; nil is Ours.
	Decider Decider
	// Progress is told the time that was reached, and how many events of the stream are done of how many.
	Progress func(at float64, done, of int)
}

// Run simulates a stream on a cluster. The pods that stand in the cluster stay.
func Run(ctx context.Context, cluster *inventory.Inventory, stream []Event, options Options) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newSimulator(ctx, cluster, stream, options)
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx, stream); err != nil {
		return nil, err
	}
	return s.result(ctx)
}

// simulator is a simulation under way.
type simulator struct {
	options Options
	cluster *inventory.Inventory
	offline *kubeframework.Offline
	view    *clusterview.View
	gangs   *gangstate.State
	keeper  overtaking.Keeper

	now float64
	// runs are all gangs in the order of their arrival, active those that run now.
	runs, active []*run
	by           map[gang.Key]*run
	related      map[gang.Key][]*run
	// suspects may be below their minimum, and barred tells that somebody may have been kept out of a domain.
	suspects []*run
	barred   bool
	// waiting are the runs with pods that have no node, by rank.
	waiting []*run
	ends    ends
	nodes   map[string]*corev1.Node
	down    sets.Set[string]
	account *account
}

// run is a gang of the stream.
type run struct {
	job     *Job
	arrived float64
	// started and ended are NaN until they are.
	started, ended float64
	// left is how much of the duration is left to run, since the gang was started the last time, at resumed.
	left, resumed float64
	running       bool
	// turn counts the starts, so that ends of former ones are known.
	turn               int
	pending, standing  []*corev1.Pod
	preemptions, moves int
	// tried is the state of the room when the gang was last found not to fit; -1 if it was not since it changed.
	tried     int64
	assembled *gang.Gang
	held      *gang.Hold
	nodes     map[string]int
	domains   map[string]int
	size      size
}

// epoch is the start of virtual time.
var epoch = time.Unix(0, 0)

func moment(at float64) time.Time { return epoch.Add(time.Duration(at * float64(time.Second))) }

func newSimulator(ctx context.Context, cluster *inventory.Inventory, stream []Event, options Options) (*simulator, error) {
	offline, err := kubeframework.NewOffline(ctx, cluster.Nodes, inventory.Standing(cluster.Pods))
	if err != nil {
		return nil, err
	}
	s := &simulator{
		options: options, cluster: cluster, offline: offline, view: clusterview.New(offline),
		gangs: gangstate.New(func(string) bool { return true }),
		by:    map[gang.Key]*run{}, related: map[gang.Key][]*run{}, nodes: map[string]*corev1.Node{}, down: sets.New[string](),
	}
	if s.options.Decider == nil {
		s.options.Decider = Ours{}
	}
	for _, node := range cluster.Nodes {
		s.nodes[node.Name] = node
	}
	s.keeper = overtaking.Keeper{Gangs: s.gangs, View: s.view, PodGroup: s.podGroup, Question: s.question}
	s.account, err = newAccount(s, stream)
	return s, err
}

func (s *simulator) run(ctx context.Context, stream []Event) error {
	for at := 0; ; {
		now, more := s.next(stream[at:])
		if !more || s.options.Until > 0 && now > s.options.Until {
			break
		}
		s.account.pass(s.now, now)
		s.now = now
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.endAll(); err != nil {
			return err
		}
		for ; at < len(stream) && stream[at].At == now; at++ {
			if err := s.happen(&stream[at]); err != nil {
				return err
			}
		}
		if err := s.schedule(ctx); err != nil {
			return fmt.Errorf("at %v: %w", now, err)
		}
		if err := s.account.look(ctx, s); err != nil {
			return err
		}
		if s.options.Progress != nil {
			s.options.Progress(now, at, len(stream))
		}
	}
	if s.options.Until > 0 {
		s.account.pass(s.now, s.options.Until)
		s.now = s.options.Until
	}
	return nil
}

// next is when something happens again.
func (s *simulator) next(stream []Event) (at float64, more bool) {
	at = math.Inf(1)
	if len(stream) > 0 {
		at = stream[0].At
	}
	for len(s.ends) > 0 && s.ends[0].turn != s.ends[0].run.turn {
		heap.Pop(&s.ends)
	}
	if len(s.ends) > 0 {
		at = min(at, s.ends[0].at)
	}
	return at, !math.IsInf(at, 1)
}

// endAll ends the gangs whose time is over.
func (s *simulator) endAll() error {
	var leave []*corev1.Pod
	for len(s.ends) > 0 && s.ends[0].at <= s.now {
		end := heap.Pop(&s.ends).(end)
		if end.turn != end.run.turn {
			continue
		}
		r := end.run
		leave = append(leave, r.standing...)
		r.running, r.ended, r.standing, r.pending = false, s.now, nil, nil
		r.turn++
		s.active, s.waiting = without(s.active, r), without(s.waiting, r)
		s.stopWaiting(r)
	}
	return s.leave(leave)
}

func without(runs []*run, gone *run) []*run {
	return slices.DeleteFunc(runs, func(r *run) bool { return r == gone })
}

// stopWaiting opens what was kept for a gang.
func (s *simulator) stopWaiting(r *run) {
	s.gangs.StopWaiting(r.key())
	if s.barred {
		s.barred = false
		s.gangs.RoomGrew()
	}
}

func (r *run) key() gang.Key { return gang.KeyOfPodGroup(r.job.PodGroup) }

func (s *simulator) leave(pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	s.account.use(pods, -1)
	s.gangs.RoomGrew()
	if err := s.offline.Change(kubeframework.Change{Leave: pods}); err != nil {
		return err
	}
	for _, pod := range pods {
		pod.Spec.NodeName = ""
	}
	return nil
}

// happen is a line of the stream.
func (s *simulator) happen(event *Event) error {
	switch {
	case event.Job != nil:
		s.arrive(event.Job)
		return nil
	case event.Down == s.down.Has(event.Node):
		return nil
	case event.Down:
		return s.fail(event.Node)
	}
	s.down.Delete(event.Node)
	s.gangs.RoomGrew()
	s.account.offer(s.nodes[event.Node], 1)
	return s.offline.Change(kubeframework.Change{Up: []*corev1.Node{s.nodes[event.Node]}})
}

func (s *simulator) arrive(job *Job) {
	job.PodGroup.CreationTimestamp = metav1.NewTime(moment(s.now))
	r := &run{
		job: job, arrived: s.now, started: math.NaN(), ended: math.NaN(), left: job.Duration, pending: slices.Clone(job.Pods),
		nodes: map[string]int{}, domains: map[string]int{}, size: s.account.sizeOf(job),
	}
	for _, pod := range r.pending {
		pod.CreationTimestamp = job.PodGroup.CreationTimestamp
	}
	s.runs = append(s.runs, r)
	s.by[r.key()] = r
	if base, ok := gang.BaseOf(job.PodGroup); ok {
		s.related[base] = append(s.related[base], r)
	}
	s.wait(r)
}

// wait puts a gang among those that wait.
func (s *simulator) wait(r *run) {
	r.tried, r.assembled = -1, nil
	if !slices.Contains(s.waiting, r) {
		s.waiting = append(s.waiting, r)
	}
}

// fail takes a node out of service. Gangs that lose pods have this moment to find other nodes for them.
func (s *simulator) fail(name string) error {
	s.down.Insert(name)
	var leave []*corev1.Pod
	for _, r := range s.active {
		if r.nodes[name] == 0 {
			continue
		}
		lost := func(pod *corev1.Pod) bool { return pod.Spec.NodeName == name }
		for _, pod := range r.standing {
			if lost(pod) {
				leave = append(leave, pod)
				r.pending = append(r.pending, pod)
			}
		}
		r.standing = slices.DeleteFunc(r.standing, lost)
		delete(r.nodes, name)
		s.suspects = append(s.suspects, r)
		s.wait(r)
	}
	if err := s.leave(leave); err != nil {
		return err
	}
	s.account.offer(s.nodes[name], -1)
	return s.offline.Change(kubeframework.Change{Down: []*corev1.Node{s.nodes[name]}})
}

// schedule decides the gangs that wait, by rank, until nobody has to leave for another any more. Gangs that are below
// their minimum then are stopped.
func (s *simulator) schedule(ctx context.Context) error {
	for again := true; again; {
		again = false
		for _, r := range s.ordered() {
			preempted, err := s.try(ctx, r)
			if err != nil {
				return fmt.Errorf("gang %s: %w", r.job.Name, err)
			}
			again = again || preempted
		}
		for _, r := range s.suspects {
			if r.running && !s.assemble(r).Satisfied(gang.NoPending) {
				if err := s.stop(r); err != nil {
					return err
				}
				again = true
			}
		}
		s.suspects = nil
	}
	return nil
}

// ordered returns those who wait by their rank.
func (s *simulator) ordered() []*run {
	slices.SortStableFunc(s.waiting, func(a, b *run) int { return s.assemble(a).Rank().Compare(s.assemble(b).Rank()) })
	return slices.Clone(s.waiting)
}

// assemble returns the gang as it is.
func (s *simulator) assemble(r *run) *gang.Gang {
	if r.assembled == nil {
		r.assembled, r.held = gang.Assemble(r.job.PodGroup, slices.Concat(r.pending, r.standing), s.cluster.Levels)
	}
	return r.assembled
}

func (s *simulator) podGroup(key gang.Key) (*scheduling.PodGroup, error) {
	if r := s.by[key]; r != nil {
		return r.job.PodGroup, nil
	}
	if podGroup, err := s.cluster.PodGroup(key); err == nil {
		return podGroup, nil
	}
	return nil, apierrors.NewNotFound(scheduling.Resource("podgroups"), key.Name)
}

// question is what is asked about a gang, without nodes; nil if it cannot be planned.
func (s *simulator) question(podGroup *scheduling.PodGroup) (*decision.Question, error) {
	r := s.by[gang.KeyOfPodGroup(podGroup)]
	assembled := s.assemble(r)
	if r.held != nil {
		return nil, nil
	}
	if assembled.Shared != nil {
		assembled.Shared.Others = nil
		for _, other := range s.related[assembled.Shared.Base] {
			if other != r {
				assembled.Shared.Add(other.key(), gang.NodesOf(other.standing))
			}
		}
	}
	return &decision.Question{
		Gang: assembled, Topologies: s.cluster.Topologies, View: s.view, Placement: s.cluster.Placement, Terse: true,
	}, nil
}

// followersOf returns the gangs that have to go where one goes.
func (s *simulator) followersOf(leader *gang.Gang) (followers []*gang.Gang) {
	if !leader.Leads() {
		return nil
	}
	for _, other := range s.related[leader.Shared.Base] {
		if follower := s.assemble(other); other.held == nil && len(other.pending) > 0 && follower.Follows(leader) {
			followers = append(followers, follower)
		}
	}
	return followers
}

// try decides a gang that waits, and starts it if it fits. It reports whether others had to leave for it.
func (s *simulator) try(ctx context.Context, r *run) (preempted bool, err error) {
	if len(r.pending) == 0 || r.tried == s.gangs.Room() {
		return false, nil
	}
	question, err := s.question(r.job.PodGroup)
	if err != nil || question == nil {
		return false, err
	}
	if question.Nodes, err = s.offline.Nodes(); err != nil {
		return false, err
	}
	rank := question.Gang.Rank()
	closed := s.keeper.ClosedTo(ctx, question.Gang, question.Nodes)
	s.barred = s.barred || closed.Barred
	question.Reserved = closed.Room
	for node, pods := range s.gangs.Reserved(rank.Gang, rank.Priority) {
		if question.Reserved == nil {
			question.Reserved = clusterview.Reserved{}
		}
		question.Reserved[node] = append(question.Reserved[node], pods...)
	}
	request := solve.Request{Question: *question, Followers: s.followersOf(question.Gang)}
	answer, err := s.options.Decider.Decide(ctx, request)
	if err != nil {
		return false, err
	}
	r.tried = s.gangs.Room()
	switch {
	case answer.Verdict != scheduling.ReasonPlaced:
		s.gangs.DidNotFit(question.Gang, overtaking.ClaimOf(question.Gang, answer, s.cluster.LevelKeys), r.tried)
		return s.preempt(ctx, r, request)
	case len(answer.Nodes) == 0:
		return false, nil
	}
	s.gangs.Placed(overtaking.TakingOf(question.Gang, answer, question.Nodes))
	s.gangs.Redeem(rank.Gang, nil)
	s.gangs.Keep(rank.Gang, rank.Priority, answer.Kept, func(gang.Key) time.Time { return time.Time{} })
	return false, s.start(r, answer.Nodes)
}

// preempt has gangs of lower priority leave for one that does not fit, if that helps. The next round starts it.
func (s *simulator) preempt(ctx context.Context, r *run, request solve.Request) (bool, error) {
	rank := request.Gang.Rank()
	if !slices.ContainsFunc(s.active, func(other *run) bool { return s.priority(other) < rank.Priority }) {
		return false, nil
	}
	never := func(pod *corev1.Pod) bool {
		return pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever
	}
	if slices.ContainsFunc(r.pending, never) {
		return false, nil
	}
	candidates, err := preemption.CandidatesFor(rank, request.Nodes, s.podGroup, preemption.Budgets{})
	if err != nil || candidates.Empty() {
		return false, err
	}
	choice, err := preemption.Find(ctx, preemption.Request{
		Question: request.Question, Snapshot: s.offline.SnapshotSharedLister().NodeInfos(), Candidates: candidates,
		Decide: func() (*decision.Answer, error) { return s.options.Decider.Decide(ctx, request) },
	})
	if err != nil || choice == nil {
		return false, err
	}
	leaving := sets.New[*corev1.Pod]()
	for _, victim := range choice.Victims {
		leaving.Insert(victim.Pod)
	}
	for _, other := range slices.Clone(s.active) {
		if slices.ContainsFunc(other.standing, leaving.Has) {
			if err := s.evict(other, leaving); err != nil {
				return false, err
			}
		}
	}
	return true, s.start(r, choice.Nodes)
}

func (s *simulator) priority(r *run) int32 { return kubeframework.Priority(r.job.Pods[0]) }

// evict takes pods of a gang off their nodes. One that cannot go on without them is stopped.
func (s *simulator) evict(r *run, leaving sets.Set[*corev1.Pod]) error {
	r.preemptions++
	var leave []*corev1.Pod
	for _, pod := range r.standing {
		if leaving.Has(pod) {
			leave = append(leave, pod)
		}
	}
	r.standing = slices.DeleteFunc(r.standing, leaving.Has)
	r.pending = append(r.pending, leave...)
	for _, pod := range leave {
		r.drop(pod.Spec.NodeName)
	}
	s.wait(r)
	if err := s.leave(leave); err != nil {
		return err
	}
	if s.assemble(r).Satisfied(gang.NoPending) {
		return nil
	}
	return s.stop(r)
}

func (r *run) drop(node string) {
	if r.nodes[node]--; r.nodes[node] == 0 {
		delete(r.nodes, node)
	}
}

// stop takes a gang off its nodes; what is left of its duration it runs later.
func (s *simulator) stop(r *run) error {
	r.left -= s.now - r.resumed
	r.running = false
	s.active = without(s.active, r)
	r.turn++
	leave := r.standing
	r.pending = append(r.pending, leave...)
	r.standing, r.nodes, r.domains = nil, map[string]int{}, map[string]int{}
	s.wait(r)
	return s.leave(leave)
}

// start puts pods of a gang on nodes, by their names.
func (s *simulator) start(r *run, nodes map[string]string) error {
	var stand []*corev1.Pod
	for _, pod := range r.pending {
		if node, ok := nodes[pod.Name]; ok {
			pod.Spec.NodeName = node
			stand = append(stand, pod)
			r.nodes[node]++
		}
	}
	slices.SortFunc(stand, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	r.pending = slices.DeleteFunc(r.pending, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
	r.standing = append(r.standing, stand...)
	s.account.use(stand, 1)
	if r.running {
		r.moves += len(stand)
	} else {
		r.running, r.resumed = true, s.now
		s.active = append(s.active, r)
		if math.IsNaN(r.started) {
			r.started = s.now
		}
		r.turn++
		if !math.IsInf(r.left, 1) {
			heap.Push(&s.ends, end{at: s.now + r.left, run: r, turn: r.turn})
		}
	}
	r.tried, r.assembled = s.gangs.Room(), nil
	s.stopWaiting(r)
	if len(r.pending) == 0 {
		s.waiting = without(s.waiting, r)
	}
	r.domains = s.domainsOf(r)
	return s.offline.Change(kubeframework.Change{Stand: stand})
}

// domainsOf counts the domains that a gang stands in, by the levels of its Topologies.
func (s *simulator) domainsOf(r *run) map[string]int {
	counts := map[string]int{}
	for _, keys := range r.size.levels {
		for depth, key := range keys {
			used := sets.New[string]()
			for node := range r.nodes {
				if path, ok := domainOf(s.nodes[node], keys[:depth+1]); ok {
					used.Insert(path)
				}
			}
			counts[key] = used.Len()
		}
	}
	return counts
}

// end is when a run is over, unless it was stopped before.
type end struct {
	at   float64
	run  *run
	turn int
}

// ends is a heap, by time.
type ends []end

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].run.job.Name, e[j].run.job.Name)) < 0
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push implements heap.Interface.
func (e *ends) Push(x any) { *e = append(*e, x.(end)) }

// Pop implements heap.Interface.
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
