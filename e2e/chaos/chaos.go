// Package chaos lets a scheduler place gangs while bindings fail, nodes come and go, PodGroups and Topologies are
// edited, pods are deleted and the scheduler is killed, and checks the result when all of that is over.
//
// The check uses only what users see: objects in the API server, the labels of nodes, and the answer of the command
// place.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/live"
)

// Scheduler is the tested program, by its name in a dev cluster.
const Scheduler = "kai-topology-plugin"

// Options say how much happens.
type Options struct {
	// Gangs is how many gangs arrive, one every Pace.
	Gangs int
	Pace  time.Duration
	// Racks is the number of racks, of 8 nodes with 8 GPUs each.
	Racks int
	// Failing is the share of bindings that fail.
	Failing float64
	// Kill is the time between two kills of the scheduler.
	Kill time.Duration
	// Trouble is the time between two troubles of nodes, and of pods, PodGroups or Topologies.
	Trouble time.Duration
	// Patience is how long the end state may take.
	Patience time.Duration
	// Seed of the random choices; what is chosen from still depends on timing.
	Seed uint64
	// Progress receives what happens, a line at a time.
	Progress io.Writer
}

// Run is one run on a cluster. Its Fate decides about the scheduler's bindings.
type Run struct {
	Options
	*live.Own
	// Name of the namespace and the Topology, and prefix of the names of nodes.
	Name string

	// troubled are the names of nodes that are in trouble now.
	troubled sync.Map

	mu     sync.Mutex
	random *rand.Rand
	gangs  []*gang
	// over reports whether bindings succeed again.
	over   bool
	counts map[string]int
	// failed are errors of actions.
	failed []error
	// hit are nodes to which a pod was about to be bound, and that get into trouble now.
	hit chan string
}

// New prepares a run with a name of its own.
func New(own *live.Own, name string, options Options) *Run {
	return &Run{
		Options: options, Own: own, Name: name, over: true, random: rand.New(rand.NewPCG(options.Seed, options.Seed)),
		counts: map[string]int{}, hit: make(chan string, 1),
	}
}

// Fate makes bindings fail at random, and sometimes gets the binding's node into trouble too.
func (r *Run) Fate(binding apiproxy.Binding) apiproxy.Fate {
	if binding.Pod.Namespace != r.Name {
		return apiproxy.Made
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	chance := r.random.Float64()
	switch {
	case r.over || chance >= r.Failing:
		r.counts["bindings made"]++
		return apiproxy.Made
	case chance >= r.Failing/2:
		r.counts["bindings unanswered"]++
		return apiproxy.Unanswered
	case chance < r.Failing/8:
		select {
		case r.hit <- binding.Node:
		default:
		}
	}
	r.counts["bindings refused"]++
	return apiproxy.Refused
}

// Do runs everything, waits until nothing changes any more, and returns the result. Violations are in the report; an
// error means that they could not be found out.
func (r *Run) Do(ctx context.Context) (*Report, error) {
	if err := r.populate(ctx); err != nil {
		return nil, fmt.Errorf("making nodes: %w", err)
	}
	var owner, troubles sync.WaitGroup
	repeat := func(until context.Context, all *sync.WaitGroup, every time.Duration, do func(context.Context) error) {
		all.Go(func() {
			for tick := time.Tick(every); ; {
				select {
				case <-until.Done():
					return
				case <-tick:
				}
				// An action that has begun is finished, so that nothing stays broken.
				r.fail(do(context.WithoutCancel(until)))
			}
		})
	}
	owning, disown := context.WithCancel(ctx)
	defer disown()
	repeat(owning, &owner, 300*time.Millisecond, r.own)
	troubling, calm := context.WithCancel(ctx)
	defer calm()
	r.setOver(false)
	for range 3 {
		repeat(troubling, &troubles, r.Trouble, r.troubleNode)
	}
	for _, trouble := range []func(context.Context) error{r.editPodGroup, r.deletePod, r.finishGang} {
		repeat(troubling, &troubles, r.Trouble, trouble)
	}
	repeat(troubling, &troubles, 20*r.Trouble, r.troubleTopology)
	repeat(troubling, &troubles, r.Kill, r.killScheduler)
	came := errors.Join(r.come(ctx), r.bindingsHaveFailed(ctx))
	calm()
	troubles.Wait()
	r.setOver(true)
	r.say("all is calm")
	rested := r.rest(ctx)
	disown()
	owner.Wait()
	if err := errors.Join(append(r.failed, came)...); err != nil {
		return nil, err
	}
	return r.judge(ctx, rested)
}

// bindingsHaveFailed waits until a binding has failed in each way, if bindings are to fail: on a slow machine few are
// tried while gangs come, and a run without a failure proves nothing.
func (r *Run) bindingsHaveFailed(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	return live.Wait(waiting, "bindings fail in each way", func(context.Context) (bool, string, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		refused, unanswered := r.counts["bindings refused"], r.counts["bindings unanswered"]
		return r.Failing == 0 || min(refused, unanswered) > 0, fmt.Sprintf("%d refused, %d unanswered", refused, unanswered),
			nil
	})
}

func (r *Run) say(format string, arguments ...any) {
	fmt.Fprintf(r.Progress, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

func (r *Run) setOver(over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = over
}

func (r *Run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
}

func (r *Run) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// chance returns true with a probability.
func (r *Run) chance(probability float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Float64() < probability
}

// choose is a random number below among.
func (r *Run) choose(among int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(among)
}

// byGang are the present pods, by the name of their gang.
func (r *Run) byGang(ctx context.Context) (map[string][]*corev1.Pod, error) {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(r.Name))
	pods := map[string][]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		pods[gangOf(pod)] = append(pods[gangOf(pod)], pod)
	}
	return pods, err
}

// some returns a gang that has arrived and not finished, nil if there is none.
func (r *Run) some() *gang {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.gangs) == 0 {
		return nil
	}
	return r.gangs[r.random.IntN(len(r.gangs))]
}

func (r *Run) all() []*gang {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.gangs)
}

// killScheduler kills the leader. It removes the lease, so that the next leader does not wait until it expires: that
// would be most of the time.
func (r *Run) killScheduler(ctx context.Context) error {
	if err := r.Machine.Kill(Scheduler); err != nil {
		return err
	}
	<-r.Machine.Ended(Scheduler)
	r.count("leaders killed")
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = "packtree-system", Scheduler
	if err := client.IgnoreNotFound(r.Delete(ctx, lease)); err != nil {
		return fmt.Errorf("deleting the lease: %w", err)
	}
	return r.Machine.Start(ctx, Scheduler)
}
