// Package endure runs a campaign of faults on a dev cluster: workloads come, change and end, while programs, the
// control plane, nodes and the network in between fail. A judge that reads the API alone looks for broken promises all
// the time.
package endure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// Options say how much happens.
type Options struct {
	// Seed of the script. What an act meets still depends on timing.
	Seed uint64
	// Length is the time of acts, in rounds that each end with a rest.
	Length time.Duration
	// Rate multiplies the faults, not what users do: 1 is what a crowded machine bears. Rounds are as much longer.
	Rate int
	// Patience is how long a rest may take to come.
	Patience time.Duration
	// Progress receives what happens, a line at a time.
	Progress io.Writer
}

// Campaign is one run on a cluster that has nothing else.
type Campaign struct {
	Options
	*live.Own
	judge   *Judge
	proxies map[string]*apiproxy.Proxy
	// machine is held while a program is started: what it needs has to run.
	machine sync.Mutex

	// world is the last one that was seen.
	looking sync.Mutex
	world   *World

	mu        sync.Mutex
	troubled  bool
	counts    map[string]int
	busy      map[string]bool
	workloads []*workload
	number    int
	// log are the last acts.
	log []string
}

const namespacePrefix = "endure-"

var namespaces = []string{namespacePrefix + "a", namespacePrefix + "b", limited}

// limited is the namespace in which a quota refuses pods.
const limited = namespacePrefix + "c"

// racks is how many the cluster has.
const racks = 8

// Run is a campaign on a cluster with all components, and returns its report. An error means that it could not be
// carried out.
func Run(ctx context.Context, own *live.Own, options Options) (*Report, error) {
	log.SetLogger(logr.Discard()) // It warns of each answer with a warning otherwise.
	c := &Campaign{Options: options, Own: own, judge: NewJudge(), proxies: map[string]*apiproxy.Proxy{},
		counts: map[string]int{}, busy: map[string]bool{}}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() {
		for _, proxy := range c.proxies {
			_ = proxy.Close()
		}
	}()
	idle, err := c.figures(ctx)
	if err != nil {
		return nil, err
	}
	judging, end := context.WithCancel(ctx)
	var judge sync.WaitGroup
	judge.Go(func() { c.watch(judging) })
	defer judge.Wait()
	defer end()
	weights, pace := weights(c.Rate)
	script := Script(c.Seed, c.Length, pace, weights, c.Rate)
	round := 2 * time.Minute * time.Duration(c.Rate)
	for began := time.Duration(0); began < c.Length; began += round {
		c.trouble(ctx, script, began, round)
		if err := c.rest(ctx, "round"); err != nil {
			return nil, err
		}
	}
	for _, w := range c.workloads {
		for _, object := range w.objects {
			if err := c.Remove(ctx, object); err != nil {
				return nil, err
			}
		}
	}
	if err := c.rest(ctx, "end"); err != nil {
		return nil, err
	}
	after, err := c.figures(ctx)
	if err != nil {
		return nil, err
	}
	report := c.report()
	for _, program := range devcluster.Components {
		before, now := idle[program], after[program]
		c.judge.Add(time.Now(), "a program has not let go", Growth(program, before, now))
		const line = "%s with nothing to do: %.0f goroutines and %.0f MiB before, %.0f and %.0f after"
		report.Idle = append(report.Idle, fmt.Sprintf(line, program, before[goroutines], before[heap]/(1<<20),
			now[goroutines], now[heap]/(1<<20)))
	}
	report.Violations = c.judge.Found()
	return report, nil
}

func (c *Campaign) prepare(ctx context.Context) error {
	for i := range racks * nodesPerRack {
		if err := c.Create(ctx, node(i)); err != nil {
			return err
		}
	}
	for _, namespace := range namespaces {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			return err
		}
	}
	if err := c.Create(ctx, topology()); err != nil {
		return err
	}
	if err := c.Create(ctx, clusterTopology(levels)); err != nil {
		return err
	}
	for i, program := range devcluster.Components {
		random := rand.New(rand.NewPCG(c.Seed, uint64(i)))
		proxy, err := apiproxy.Listen(c.Server, func(request *http.Request) apiproxy.Fate { return c.fate(random, request) })
		if err != nil {
			return err
		}
		c.proxies[program] = proxy
		if err := c.Behind(ctx, program, proxy); err != nil {
			return err
		}
	}
	return nil
}

func topology() *kai.Topology {
	levels := []kai.TopologyLevel{{NodeLabel: blockLabel}, {NodeLabel: rackLabel}, {NodeLabel: corev1.LabelHostname}}
	return &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: topologyName}, Spec: kai.TopologySpec{Levels: levels}}
}

// editedName is a ClusterTopology of these levels, which for a while has none below the rack.
const editedName = "edited"

var levels = []grove.TopologyLevel{{Domain: "block", Key: blockLabel}, {Domain: "rack", Key: rackLabel},
	{Domain: "host", Key: corev1.LabelHostname}}

func clusterTopology(levels []grove.TopologyLevel) *grove.ClusterTopology {
	return &grove.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: editedName},
		Spec: grove.ClusterTopologySpec{Levels: levels}}
}

func node(i int) *corev1.Node {
	rack := i / nodesPerRack
	return live.FakeNode(fmt.Sprintf("node-%02d", i), map[string]string{
		corev1.LabelTopologyZone: "zone", blockLabel: fmt.Sprintf("block-%d", rack/racksPerBlock),
		rackLabel: fmt.Sprintf("rack-%d", rack), ours: "",
	}, gpusPerNode)
}

// trouble has the acts of a round, and returns when all are undone.
func (c *Campaign) trouble(ctx context.Context, script []Act, began, round time.Duration) {
	c.setTroubled(true)
	defer c.setTroubled(false)
	var acts sync.WaitGroup
	defer acts.Wait()
	start := time.Now()
	for _, act := range script {
		if act.At < began || act.At >= began+round {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(start.Add(act.At - began))):
		}
		acts.Go(func() {
			if err := c.perform(ctx, act); err != nil {
				c.count("acts that failed")
				c.say("%s: %v", act.Name, err)
			}
		})
	}
}

// watch has the judge look all the time.
func (c *Campaign) watch(ctx context.Context) {
	var last *World
	for ctx.Err() == nil {
		looking, cancel := context.WithTimeout(ctx, 10*time.Second)
		world, err := c.look(looking, false)
		cancel()
		if err == nil {
			c.countBound(last, world)
			c.judge.See(time.Now(), world)
			last = world
		}
		pause(ctx, time.Second)
	}
}

// look reads the world, one after the other.
func (c *Campaign) look(ctx context.Context, all bool) (*World, error) {
	c.looking.Lock()
	defer c.looking.Unlock()
	world, err := read(ctx, c.Cluster, c.world, all)
	if err == nil {
		c.world = world
	}
	return world, err
}

func (c *Campaign) countBound(last, world *World) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid := range world.Bound {
		if last == nil || last.Bound[uid].IsZero() {
			c.counts["pods bound"]++
		}
	}
}

// At rest nothing is written as long as still. A gang that could go on then, and does not until patient, never will, or
// by a timer.
const (
	still   = 20 * time.Second
	patient = 4 * time.Minute
)

// rest waits until no rule is broken and nothing is written any more. What does not come to rest is a violation.
func (c *Campaign) rest(ctx context.Context, what string) error {
	if err := c.startAll(ctx); err != nil {
		return err
	}
	c.say("%s: all is calm", what)
	waiting, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	var anchor, world *World
	var since time.Time
	told := time.Now()
	var written map[string]string
	err := live.Wait(waiting, "all has come to rest", func(ctx context.Context) (bool, string, error) {
		now, err := c.look(ctx, true)
		if err != nil {
			return false, "", err
		}
		world = now
		if anchor != nil {
			if changed := Unrest(anchor, world); len(changed) > 0 {
				anchor, written = nil, changed
			}
		}
		if anchor == nil {
			anchor, since = world, time.Now()
		}
		wrong := Wrong(world)
		if time.Since(told) > time.Minute {
			told = time.Now()
			c.say("not at rest, %s after the last write: %v", time.Since(since).Round(time.Second), wrong)
		}
		if len(wrong) > 0 || time.Since(since) < still {
			return false, fmt.Sprint(wrong), nil
		}
		forgotten, err := c.forgotten(ctx, world)
		if len(forgotten) > 0 && time.Since(since) > patient {
			c.judge.Add(time.Now(), "a gang waits for nothing", forgotten)
			return true, "", nil
		}
		return len(forgotten) == 0, "", err
	})
	if err == nil {
		c.say("%s: all rests", what)
		return nil
	}
	if ctx.Err() != nil || world == nil {
		return err
	}
	c.say("%s: %v", what, err)
	c.judge.Rest(time.Now(), world)
	if len(Wrong(world)) == 0 {
		c.judge.Add(time.Now(), "an object is written at rest", written)
	}
	return nil
}

// startAll starts the programs that have ended by themselves, and two anew: kube-controller-manager tries what failed
// it later and later, in the end after a quarter of an hour, and KWOK may leave a node alone that came back under its
// name. KWOK would wait for the leases of the one before.
func (c *Campaign) startAll(ctx context.Context) error {
	anew := []string{"kube-controller-manager", "kwok"}
	for _, program := range anew {
		if err := c.Machine.Kill(program); err != nil {
			return err
		}
		<-c.Machine.Ended(program)
	}
	leases := client.InNamespace(corev1.NamespaceNodeLease)
	return errors.Join(
		c.runAll(ctx, "etcd", "kube-apiserver"),
		insist(ctx, func(ctx context.Context) error { return c.DeleteAllOf(ctx, &coordinationv1.Lease{}, leases) }),
		c.runAll(ctx, append(anew, devcluster.Components...)...),
	)
}

func (c *Campaign) setTroubled(troubled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.troubled = troubled
	for _, proxy := range c.proxies {
		proxy.DropWatches() // None lags at rest.
	}
}

func (c *Campaign) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

func (c *Campaign) say(format string, arguments ...any) {
	line := time.Now().Format(time.TimeOnly) + " " + fmt.Sprintf(format, arguments...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, line)
	fmt.Fprintln(c.Progress, line)
}
