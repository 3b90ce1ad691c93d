package simulate

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// run is a gang of the stream that has arrived.
type run struct {
	job *Job
	// Gang is what became of the gang so far, but for its state.
	Gang
	// left is how much of the duration is left to run, since the gang was started the last time, at resumed.
	left, resumed float64
	running       bool
	// turn counts the starts, so that the end of an earlier start is recognised; place is the index in active.
	turn, place int
	// podGroup and pods are nil once the gang has ended, and for one that is too large.
	podGroup          *scheduling.PodGroup
	pending, standing []*corev1.Pod
	priority          int32
	// lost counts the pods that stood on nodes that failed, and have none again.
	lost int
	// tried is the state of the room when the gang was last found not to fit; -1 if it was not since it changed.
	tried int
	// queued is set while the gang is in waiting, with this rank.
	queued    bool
	rank      gang.Rank
	assembled *gang.Gang
	held      *gang.Hold
	// topologies are the topologies that the gang names, and kinds are what its pods request.
	topologies []string
	kinds      []kind
}

func (s *simulator) arrive(job *Job) error {
	kinds, err := job.kinds()
	if err != nil {
		return fmt.Errorf("gang %s: %w", job.Name, err)
	}
	r := &run{
		job: job, left: job.Duration, tried: -1, topologies: gang.TopologiesOf(job.podGroup), kinds: kinds,
		Gang: Gang{Name: job.Name, Arrived: s.now, Nodes: map[string]int{}, Domains: map[string]int{}},
	}
	r.LeastDomains = s.domains.least(r.topologies, kinds)
	s.runs = append(s.runs, r)
	if job.count > 0 && !s.domains.holds(kinds[0]) {
		s.tooLarge++
		return nil
	}
	r.podGroup, r.pending = job.objects(s.now)
	s.by[job.key()] = r
	s.index.Add(r.podGroup)
	s.wait(r)
	return nil
}

// asksForOne reports whether the pods, all alike, ask for one resource besides their place.
func (r *run) asksForOne() bool {
	asked := 0
	for resource, amount := range r.kinds[0].requests {
		if amount > 0 && resource != kubeframework.ResourcePods {
			asked++
		}
	}
	return len(r.kinds) == 1 && asked == 1
}

// wait puts a gang with changed pods into waiting.
func (s *simulator) wait(r *run) {
	r.tried, r.assembled = -1, nil
	s.unqueue(r)
	r.rank = s.assemble(r).Rank()
	r.priority = r.rank.Priority
	s.queue(r)
}

func (s *simulator) queue(r *run) {
	at, _ := slices.BinarySearchFunc(s.waiting, r, func(a, b *run) int { return a.rank.Compare(b.rank) })
	s.waiting, r.queued = slices.Insert(s.waiting, at, r), true
}

func (s *simulator) unqueue(r *run) {
	if !r.queued {
		return
	}
	at, _ := slices.BinarySearchFunc(s.waiting, r, func(a, b *run) int { return a.rank.Compare(b.rank) })
	s.waiting, r.queued = slices.Delete(s.waiting, at, at+1), false
}

// assemble returns the gang as it is.
func (s *simulator) assemble(r *run) *gang.Gang {
	if r.assembled == nil {
		r.assembled, r.held = gang.Assemble(r.podGroup, slices.Concat(r.pending, r.standing), s.cluster.Levels)
	}
	return r.assembled
}

// start puts pods of a gang on the nodes that an answer gives them, and keeps room for others.
func (s *simulator) start(r *run, nodes map[string]string, kept map[gang.Key]clusterview.Reserved) error {
	s.assemble(r)
	s.opening(func() { s.gangs.Placed(r.takes(&solve.Answer{Nodes: nodes}), kept) })
	var stand []*corev1.Pod
	r.pending = slices.DeleteFunc(slices.Clone(r.pending), func(pod *corev1.Pod) bool {
		node, ok := nodes[pod.Name]
		if ok {
			pod.Spec.NodeName = node
			stand = append(stand, pod)
			r.Nodes[node]++
		}
		return ok
	})
	slices.SortFunc(stand, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	r.standing = append(r.standing, stand...)
	if err := s.usage.stand(stand, 1); err != nil {
		return err
	}
	if !r.running {
		s.resume(r)
	} else if moved := min(r.lost, len(stand)); moved > 0 {
		r.Moves, r.lost = r.Moves+moved, r.lost-moved
	}
	s.unqueue(r)
	if r.assembled = nil; len(r.pending) > 0 {
		s.wait(r)
	}
	r.tried = s.room
	if err := s.locate(r); err != nil {
		return err
	}
	return s.offline.Change(kubeframework.Change{Stand: stand})
}

// locate looks in which domains a gang stands.
func (s *simulator) locate(r *run) (err error) {
	r.Domains, r.LeastDomains, err = s.domains.locate(r.topologies, r.standing)
	return err
}

// resume has a gang run for what is left of its duration.
func (s *simulator) resume(r *run) {
	r.running, r.resumed, r.lost = true, s.now, 0
	r.place = len(s.active)
	s.active = append(s.active, r)
	if r.Started == nil {
		r.Started = new(s.now)
	}
	r.turn++
	if !math.IsInf(r.left, 1) {
		heap.Push(&s.ends, end{at: s.now + r.left, run: r, turn: r.turn})
	}
}

// halt removes a gang from active.
func (s *simulator) halt(r *run) {
	r.running = false
	r.turn++
	last := s.active[len(s.active)-1]
	s.active[r.place], last.place = last, r.place
	s.active = s.active[:len(s.active)-1]
}

// end forgets all of a gang that is over but what the result says of it. Its pods still have to leave.
func (s *simulator) end(r *run) {
	s.halt(r)
	s.unqueue(r)
	s.opening(func() { s.gangs.PodGroupChanged(r.podGroup, nil, moment(s.now)) })
	r.Ended = new(s.now)
	delete(s.by, r.job.key())
	s.index.Remove(r.podGroup)
	r.podGroup, r.pending, r.standing, r.assembled = nil, nil, nil, nil
}

// opening runs a function that may give reserved room back: those may fit then that did not.
func (s *simulator) opening(run func()) {
	before := s.gangs.Now()
	if run(); s.gangs.Now() != before {
		s.room++
	}
}

// lose returns the standing pods that a gang loses, which are pending then. They still have to leave.
func (r *run) lose(lost func(*corev1.Pod) bool) (leave []*corev1.Pod) {
	r.standing = slices.DeleteFunc(slices.Clone(r.standing), func(pod *corev1.Pod) bool {
		if !lost(pod) {
			return false
		}
		leave = append(leave, pod)
		if r.Nodes[pod.Spec.NodeName]--; r.Nodes[pod.Spec.NodeName] == 0 {
			delete(r.Nodes, pod.Spec.NodeName)
		}
		return true
	})
	r.pending = append(r.pending, leave...)
	return leave
}

// evict takes pods of a gang off their nodes. One that cannot go on without them is stopped.
func (s *simulator) evict(r *run, leaves func(*corev1.Pod) bool) error {
	r.Preemptions++
	leave := r.lose(leaves)
	if err := s.leave(leave); err != nil {
		return err
	}
	s.wait(r)
	if s.assemble(r).Satisfied(gang.NoPending) {
		return s.locate(r)
	}
	return s.stop(r)
}

// stop takes a gang off its nodes; what is left of its duration it runs later.
func (s *simulator) stop(r *run) error {
	r.left = max(0, r.left-(s.now-r.resumed))
	s.halt(r)
	r.lost = 0
	leave := r.lose(func(*corev1.Pod) bool { return true })
	if err := s.leave(leave); err != nil {
		return err
	}
	r.Domains, r.LeastDomains = map[string]int{}, s.domains.least(r.topologies, r.kinds)
	s.wait(r)
	return nil
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
