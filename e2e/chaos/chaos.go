// Package chaos has a scheduler place gangs while bindings fail, nodes come and go, PodGroups and Topologies are edited, pods are deleted
// and the scheduler is killed, and judges what stands when all of that is over.
//
// The judgement uses what a user can see: objects in the API server, the labels of nodes, and what the command place says of them.
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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/live"
)

// Scheduler is the program that is put to the test, by its name in a dev cluster.
const Scheduler = "kai-topology-plugin"

// Options say how much there is of everything.
type Options struct {
	// Gangs is how many come, one every Pace.
	Gangs int
	Pace  time.Duration
	// Racks is how many racks of 8 nodes with 8 GPUs each there are.
	Racks int
	// Failing is the share of bindings that fail.
	Failing float64
	// Kill is how often the scheduler is killed.
	Kill time.Duration
	// Trouble is how often something happens to a node, and to a pod, a PodGroup or a Topology.
	Trouble time.Duration
	// Patience is how long everything may take to come to rest in the end.
	Patience time.Duration
	// Seed makes the choices; what is chosen among depends on the moment all the same.
	Seed uint64
	// Progress is told what happens, a line at a time.
	Progress io.Writer
}

// Run is one go of it on a cluster. Its Fate is to be that of the scheduler's bindings.
type Run struct {
	Options
	*live.Own
	// Name is that of the namespace and the Topology, and begins the names of nodes.
	Name string

	pods cache.SharedIndexInformer
	// alive is held by who ends the scheduler or starts it.
	alive sync.Mutex

	mu     sync.Mutex
	random *rand.Rand
	gangs  []*gang
	// troubled are the nodes that are in trouble.
	troubled map[string]bool
	// over is whether bindings succeed again.
	over   bool
	counts map[string]int
	// hit are nodes for which a pod was about to be bound, to which something is to happen now.
	hit chan string
}

// New prepares a run with a name of its own.
func New(own *live.Own, name string, options Options) *Run {
	return &Run{
		Options: options, Own: own, Name: name, over: true, random: rand.New(rand.NewPCG(options.Seed, options.Seed)),
		troubled: map[string]bool{}, counts: map[string]int{}, hit: make(chan string, 1),
	}
}

// Fate has bindings fail by chance, and in some of the cases something happens to the node that the pod was to be bound to.
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

// Do has everything happen, waits until it has come to rest, and returns what stands. A violation is in the report; an error is something that
// kept it from being found out.
func (r *Run) Do(ctx context.Context) (*Report, error) {
	if err := r.populate(ctx); err != nil {
		return nil, fmt.Errorf("making nodes: %w", err)
	}
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	if err := r.watchPods(watching); err != nil {
		return nil, err
	}
	var owner, troubles sync.WaitGroup
	errs := make(chan error, 1000)
	repeat := func(until context.Context, all *sync.WaitGroup, every time.Duration, do func(context.Context) error) {
		all.Go(func() {
			for tick := time.Tick(every); ; {
				select {
				case <-until.Done():
					return
				case <-tick:
				}
				// What has begun is finished, so that nothing stays broken.
				if err := do(context.WithoutCancel(until)); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	owning, disown := context.WithCancel(ctx)
	defer disown()
	repeat(owning, &owner, 300*time.Millisecond, r.own)
	repeat(owning, &owner, time.Second, r.keepRunning)
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
	came := r.come(ctx)
	calm()
	troubles.Wait()
	r.setOver(true)
	r.say("all is calm")
	rested := r.rest(ctx)
	disown()
	owner.Wait()
	close(errs)
	for err := range errs {
		came = errors.Join(came, err)
	}
	if came != nil {
		return nil, came
	}
	return r.judge(ctx, rested)
}

func (r *Run) say(format string, arguments ...any) {
	fmt.Fprintf(r.Progress, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

func (r *Run) setOver(over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = over
}

func (r *Run) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// chance reports whether something of that probability happens.
func (r *Run) chance(probability float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Float64() < probability
}

// choose is one of so many.
func (r *Run) choose(among int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(among)
}

// watchPods keeps the pods of the namespace at hand, for those who act on them while there is chaos.
func (r *Run) watchPods(ctx context.Context) error {
	var pods cache.SharedIndexInformer
	core, err := coreOf(r.Server)
	if err != nil {
		return err
	}
	pods = cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(core, "pods", r.Name, fields.Everything()), &corev1.Pod{}, 0, cache.Indexers{})
	r.pods = pods
	go pods.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return fmt.Errorf("watching pods: %w", context.Cause(ctx))
	}
	return nil
}

// byGang are the pods that are there now, by the name of their gang.
func (r *Run) byGang() map[string][]*corev1.Pod {
	pods := map[string][]*corev1.Pod{}
	for _, object := range r.pods.GetStore().List() {
		if pod, is := object.(*corev1.Pod); is {
			pods[gangOf(pod)] = append(pods[gangOf(pod)], pod)
		}
	}
	return pods
}

// some returns a gang that has come and not gone, nil if there is none.
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

// killScheduler ends the leader without a word. The next one does not wait until its lease has expired: that would be most of the time.
func (r *Run) killScheduler(ctx context.Context) error {
	r.alive.Lock()
	defer r.alive.Unlock()
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

// keepRunning starts the scheduler whenever it has ended by itself, as its kubelet would.
func (r *Run) keepRunning(ctx context.Context) error {
	r.alive.Lock()
	defer r.alive.Unlock()
	if r.Machine.PID(Scheduler) != 0 {
		return nil
	}
	r.count("leaders that ended by themselves")
	return r.Machine.Start(ctx, Scheduler)
}
