package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/preemption"
)

// makeRoom looks for others who can leave, once the gang of a pod was found not to fit. It is for the pod for which
// that was decided; the others of the gang share the answer.
//
// Everything is decided before anything is written, and each step that follows can be the last one of this process:
// first the pods of the gang get their future nodes, then the victims are deleted. Whoever schedules next finds the
// gang waiting, sees from those nodes which domain was being cleared, counts the room of those who are leaving already
// as free, and lets the rest leave.
func (p *Plugin) makeRoom(ctx context.Context, pod *corev1.Pod) error {
	key, _ := p.lister.KeyOf(pod)
	known := p.gangs.View(key)
	if known.AskedBy != pod.UID || !refused(known.Last) || known.Last.Overtaking {
		return nil
	}
	asked, held, err := p.read(key, pod, nil)
	if err != nil || held != nil || asked.lacks != nil {
		return err
	}
	if p.gangs.ReservesBelow(asked.Rank()) {
		// Room that is reserved now is used, a moment later, by those who can be asked to leave.
		p.gangs.TurnAway(pod)
	}
	if asked.PreemptsNobody() {
		return nil
	}
	may, effects := p.gangs.MayPreempt(asked.PodGroup, p.clock.Now())
	p.effects.do(effects)
	if !may {
		return nil
	}
	return p.preempt(ctx, asked)
}

func (p *Plugin) preempt(ctx context.Context, asked *request) error {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	var err error
	if asked.nodes, err = nodes.List(); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	budgets, err := budgetsOf(p.pdbs)
	if err != nil {
		return err
	}
	candidates, err := preemption.CandidatesFor(asked.Rank(), asked.nodes, p.lister.PodGroup, budgets)
	if err != nil {
		return err
	}
	if candidates.Empty() {
		p.effects.do(p.gangs.EndPreemption(asked.Key()))
		return nil
	}
	request, _, err := p.reader.ask(asked.Gang, asked.nodes)
	if err != nil {
		return err
	}
	choice, err := preemption.Find(ctx, preemption.Request{
		Request: request.Keeping(), Snapshot: nodes, Candidates: candidates,
		Decide: func() (*solve.Answer, error) {
			without, _, err := p.reader.ask(asked.Gang, asked.nodes)
			if err != nil {
				return nil, err
			}
			return solve.Solve(ctx, without)
		},
	})
	if err != nil {
		return fmt.Errorf("looking for room for gang %s: %w", asked.Key(), err)
	}
	if choice != nil && slices.ContainsFunc(choice.Victims, p.isGone) {
		// A victim is gone, which the nodes of this cycle do not show yet. The gang is woken when they do.
		return nil
	}
	p.effects.do(p.gangs.EndPreemption(asked.Key()))
	if choice == nil {
		p.effects.unnominate(nominationsOf(asked.Gang))
		return nil
	}
	p.clear(ctx, asked, choice)
	return nil
}

func budgetsOf(pdbs policylisters.PodDisruptionBudgetLister) (preemption.Budgets, error) {
	found, err := pdbs.List(labels.Everything())
	if err != nil {
		return preemption.Budgets{}, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	return preemption.BudgetsOf(found), nil
}

// nominationsOf are the nodes that a scheduler that died wrote to pods of a gang, to be taken back once nobody's
// leaving helps it.
func nominationsOf(assembled *gang.Gang) (nominations []gangstate.Placement) {
	for _, pod := range assembled.Pending {
		if pod.Status.NominatedNodeName != "" {
			nominations = append(nominations, gangstate.Placement{Pod: pod})
		}
	}
	return nominations
}

// isGone reports whether a victim that the nodes of a cycle show is gone. One that is on its way out is waited for like
// the others: nothing would wake the gang when the nodes show that it leaves.
func (p *Plugin) isGone(victim preemption.Preempted) bool {
	pod, err := p.lister.Pods.Pods(victim.Namespace).Get(victim.Name)
	return err != nil || pod.UID != victim.UID
}

// clear holds the room, has the victims leave in the background, and lets the gang wait for it.
func (p *Plugin) clear(ctx context.Context, asked *request, choice *preemption.Choice) {
	awaited, waiting := sets.New[types.UID](), sets.New[types.UID]()
	for _, pod := range choice.Awaited {
		awaited.Insert(pod.UID)
	}
	for _, victim := range choice.Victims {
		if p.handle.GetWaitingPod(victim.UID) != nil {
			waiting.Insert(victim.UID)
		}
	}
	placements := p.placements(asked.Gang, choice.Nodes, nil)
	for _, placement := range placements {
		p.effects.nominate(ctx, placement)
	}
	p.effects.do(p.gangs.Preempting(asked.Gang, asked.version, asked.pod, placements,
		awaited.Difference(waiting), choice.String()))
	p.missed(choice.Awaited)
	if p.gangs.Overtaken(asked.Gang, asked.version, seen{p}) != "" {
		// What has changed while this was looked for could not end it. Nobody leaves for a gang that is gone.
		p.effects.do(p.gangs.EndPreemption(asked.Key()))
		p.effects.activate([]*corev1.Pod{asked.pod})
		return
	}
	if len(choice.Victims) == 0 {
		return
	}
	klog.FromContext(ctx).Info("Making room for a gang", "podGroup", asked.Key(), "priority", asked.Priority(),
		"pods", len(choice.Victims), "wholeGangs", choice.Broken, "where", choice.Where)
	metrics.MadeRoom(len(choice.Victims), choice.Broken)
	go p.effects.evict(context.WithoutCancel(ctx), eviction{
		Choice: choice, gang: asked.Gang, placements: placements, waiting: waiting,
	})
}

// missed looks for pods that were gone before anybody waited for them.
func (p *Plugin) missed(awaited []*corev1.Pod) {
	for _, pod := range awaited {
		if p.lister.IsGone(pod) {
			p.effects.do(p.gangs.Left(pod.UID))
		}
	}
}
