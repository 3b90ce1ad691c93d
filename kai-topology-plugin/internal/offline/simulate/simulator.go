// Package simulate runs streams of gangs on a cluster in virtual time. Gangs arrive, wait, run and end; nodes fail and
// return. The scheduler's own code decides the order, overtaking, preemption and placement. Nothing here depends on a
// clock, so that the same input gives the same answer.
package simulate

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Options say how to simulate.
type Options struct {
	// Until is the last second; nil goes on until nothing more happens.
	Until *float64
	// ReserveFor is the scheduler's argument of that name; nil is its default.
	ReserveFor *time.Duration
	// Progress gets the time that was reached, and how many events of the stream are done of how many.
	Progress func(at float64, done, of int)
}

// Run simulates a stream, as Read returned it for the cluster. The pods that stand in the cluster stay.
func Run(ctx context.Context, cluster *inventory.Inventory, stream []Event, options Options) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := newSimulator(ctx, cluster, options)
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
	options  Options
	cluster  *inventory.Inventory
	offline  *kubeframework.Offline
	view     *clusterview.View
	gangs    *gangstate.State
	reserver overtaking.Reserver
	domains  *domains
	usage    *usage

	now float64
	// runs are all gangs in the order of their arrival; active are the running gangs, waiting the gangs with pods that
	// have no node, by rank.
	runs, active, waiting []*run
	// by has the gangs that have not ended, and index their PodGroups.
	by    map[gang.Key]*run
	index planner.Index
	ends  ends
	// tooLarge counts the gangs that all nodes together are too small for. Their pods are never made.
	tooLarge int
	// suspects may be below their minimum.
	suspects []*run
	// room is a number that grows whenever room becomes free.
	room int
	// wake is when reserved room may be given back; infinity if none is.
	wake float64
	// refused has the answer to the last one of gangs that are alike that did not fit.
	refused map[string]refusal
	// alone is the cluster without the stream, made when it is first asked, and fits what it says of gangs that are
	// alike.
	alone *turns.Table
	fits  map[string]bool
	// nodes are all nodes, and down the names of the failed ones; settled are the pods of the cluster by their node.
	nodes   map[string]*corev1.Node
	down    sets.Set[string]
	settled map[string][]*corev1.Pod
}

// maxSeconds is as late as anything may happen, and as long as it may take.
const maxSeconds = 1e11

// moment is a second of virtual time, which starts with the epoch.
func moment(at float64) time.Time {
	whole, part := math.Modf(at)
	return time.Unix(int64(whole), int64(part*float64(time.Second)))
}

func newSimulator(
	ctx context.Context, cluster *inventory.Inventory, options Options,
) (*simulator, error) {
	standing := inventory.Standing(cluster.Pods)
	offline, err := kubeframework.NewOffline(ctx, cluster.Nodes, standing)
	if err != nil {
		return nil, err
	}
	s := &simulator{
		options: options, cluster: cluster, offline: offline, view: clusterview.New(offline),
		gangs: gangstate.New(func(string) bool { return true }, nil),
		by:    map[gang.Key]*run{}, index: planner.NewIndex(),
		refused: map[string]refusal{}, fits: map[string]bool{}, wake: math.Inf(1),
		nodes: map[string]*corev1.Node{}, down: sets.New[string](), settled: map[string][]*corev1.Pod{},
	}
	s.view.SeeZones(cluster.Zones)
	for _, node := range cluster.Nodes {
		s.nodes[node.Name] = node
	}
	for _, pod := range standing {
		if s.nodes[pod.Spec.NodeName] != nil {
			s.settled[pod.Spec.NodeName] = append(s.settled[pod.Spec.NodeName], pod)
		}
	}
	s.reserver = overtaking.Reserver{
		Gangs: s.gangs, Request: s.requestOf,
		For:      ptr.Deref(options.ReserveFor, overtaking.DefaultReserveFor),
		Snapshot: func() fwk.NodeInfoLister { return offline.SnapshotSharedLister().NodeInfos() },
	}
	nodes, err := offline.Nodes()
	if err != nil {
		return nil, err
	}
	s.domains, s.usage = newDomains(cluster, nodes), newUsage(nodes)
	for _, pods := range s.settled {
		if err := s.usage.stand(pods, 1); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *simulator) run(ctx context.Context, stream []Event) error {
	s.sample()
	for at := 0; ; {
		now, more := s.next(stream[at:])
		if !more || s.options.Until != nil && now > *s.options.Until {
			break
		}
		s.now = now
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("at second %v: %w", now, err)
		}
		if err := s.endAll(); err != nil {
			return err
		}
		for ; at < len(stream) && stream[at].At == now; at++ {
			if err := s.happen(&stream[at]); err != nil {
				return err
			}
		}
		if s.now >= s.wake {
			s.wake = math.Inf(1)
			s.opening(func() { s.wakeFor(s.gangs.Tick(moment(s.now))) })
		}
		if err := s.schedule(ctx); err != nil {
			return fmt.Errorf("at second %v: %w", now, err)
		}
		s.sample()
		if s.options.Progress != nil {
			s.options.Progress(s.now, at, len(stream))
		}
	}
	if s.options.Until != nil {
		s.now = *s.options.Until
		s.sample()
	}
	return nil
}

// sample records what is in use now.
func (s *simulator) sample() {
	waiting := s.tooLarge
	for _, r := range s.waiting {
		if !r.running {
			waiting++
		}
	}
	s.usage.sample(s.now, waiting, len(s.active))
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
	if !math.IsInf(at, 1) || len(s.waiting) > 0 {
		at = min(at, s.wake)
	}
	return at, !math.IsInf(at, 1)
}

// wakeFor has the time be told to the state of the gangs when it asks for that.
func (s *simulator) wakeFor(effects gangstate.Effects) {
	if effects.Again > 0 {
		s.wake = min(s.wake, s.now+effects.Again.Seconds())
	}
}

// endAll ends the gangs with an elapsed duration.
func (s *simulator) endAll() error {
	var leave []*corev1.Pod
	for len(s.ends) > 0 && s.ends[0].at <= s.now {
		if end := heap.Pop(&s.ends).(end); end.turn == end.run.turn {
			leave = append(leave, end.run.standing...)
			s.end(end.run)
		}
	}
	return s.leave(leave)
}

// leave takes pods off their nodes.
func (s *simulator) leave(pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	if err := s.usage.stand(pods, -1); err != nil {
		return err
	}
	s.room++
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
		return s.arrive(event.Job)
	case event.Down == s.down.Has(event.Node):
		return nil
	case event.Down:
		return s.fail(event.Node)
	}
	return s.restore(event.Node)
}

// fail takes a node out of service. Gangs that lose pods have this moment to find other nodes for them. Pods of the
// cluster itself come back with the node.
func (s *simulator) fail(name string) error {
	s.down.Insert(name)
	var leave []*corev1.Pod
	hit := len(s.suspects)
	for _, r := range s.active {
		if r.Nodes[name] == 0 {
			continue
		}
		lost := r.lose(func(pod *corev1.Pod) bool { return pod.Spec.NodeName == name })
		r.lost += len(lost)
		leave = append(leave, lost...)
		s.suspects = append(s.suspects, r)
	}
	if err := s.leave(leave); err != nil {
		return err
	}
	for _, r := range s.suspects[hit:] {
		s.wait(r)
		if err := s.locate(r); err != nil {
			return err
		}
	}
	if err := s.usage.stand(s.settled[name], -1); err != nil {
		return err
	}
	s.usage.offer(s.domains.offers[name], -1)
	return s.offline.Change(kubeframework.Change{Leave: s.settled[name], Down: []*corev1.Node{s.nodes[name]}})
}

// restore puts a node back into service.
func (s *simulator) restore(name string) error {
	s.down.Delete(name)
	s.room++
	s.usage.offer(s.domains.offers[name], 1)
	if err := s.usage.stand(s.settled[name], 1); err != nil {
		return err
	}
	return s.offline.Change(kubeframework.Change{Up: []*corev1.Node{s.nodes[name]}, Stand: s.settled[name]})
}
