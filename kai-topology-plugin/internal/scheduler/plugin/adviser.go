package plugin

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	// adviceAfter is how long a gang waits that is advised: most that do not fit get the room of others before.
	adviceAfter = 2 * time.Second
	// adviceShare is how much of one core advice may take: a twentieth.
	adviceShare = 20
)

// adviser finds out, beside the scheduling loop, with which nodes gangs would fit that do not.
type adviser struct {
	*Plugin
	queue workqueue.TypedDelayingInterface[gang.Key]

	mu sync.Mutex
	// known is the last advice for each gang, until the writer of statuses has it forgotten.
	known map[gang.Key]advised
}

// advised is advice for a refusal.
type advised struct {
	refusal string
	advice  podgroupstatus.Advice
}

func newAdviser(p *Plugin) *adviser {
	return &adviser{Plugin: p, queue: workqueue.NewTypedDelayingQueue[gang.Key](), known: map[gang.Key]advised{}}
}

// About implements podgroupstatus.Adviser.
func (a *adviser) About(key gang.Key, refusal string) podgroupstatus.Advice {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.known[key]; ok && known.refusal == refusal {
		return known.advice
	}
	a.queue.AddAfter(key, adviceAfter)
	return podgroupstatus.Advice{}
}

// Forget implements podgroupstatus.Adviser.
func (a *adviser) Forget(key gang.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, key)
}

// run advises until ctx is done.
func (a *adviser) run(ctx context.Context) {
	defer context.AfterFunc(ctx, a.queue.ShutDown)()
	for {
		key, ended := a.queue.Get()
		if ended {
			return
		}
		began := a.clock.Now()
		if err := a.advise(ctx, key); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Looking for nodes with which a gang would fit", "podGroup", key)
			a.queue.AddAfter(key, repairSoon)
		}
		a.queue.Done(key)
		sleep(ctx, a.clock.Now().Sub(began)*(adviceShare-1))
	}
}

// advise looks for the nodes that a gang needs, if it still does not fit. The writer of its status, which is told then,
// has the advice forgotten if it does.
func (a *adviser) advise(ctx context.Context, key gang.Key) error {
	podGroup, err := a.lister.PodGroup(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading PodGroup: %w", err)
	}
	last := a.gangs.Status(podGroup).Last
	if last == nil || last.Verdict != scheduling.ReasonInfeasible || a.About(key, last.Message).Known {
		return nil
	}
	nodes, err := a.nodesFor(ctx, podGroup)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.known[key] = advised{last.Message, podgroupstatus.Advice{Known: true, Nodes: nodes}}
	a.mu.Unlock()
	a.effects.status.Enqueue(key)
	return nil
}

// nodesFor decides as the scheduler does, on a copy of the cluster.
func (a *adviser) nodesFor(ctx context.Context, podGroup *scheduling.PodGroup) (nodes *remedies.Nodes, err error) {
	cluster, err := a.shownAndAssumed()
	if err != nil {
		return nil, err
	}
	pods, err := a.lister.Shown(gang.KeyOfPodGroup(podGroup))
	if err != nil {
		return nil, fmt.Errorf("reading pods: %w", err)
	}
	assembled, hold := gang.Assemble(podGroup, pods, cluster.Levels)
	turn := turns.Turn{Gang: assembled, Hold: hold, Rank: assembled.Rank()}
	err = a.profiles.copied.On(ctx, cluster, func(table *turns.Table) error {
		table = table.Respecting(a.reserved)
		answer, err := table.Decide(ctx, turn, 0)
		if err != nil {
			return err
		}
		nodes, err = remedies.FindNodes(ctx, cluster, table, turn, answer)
		return err
	})
	return nodes, err
}
