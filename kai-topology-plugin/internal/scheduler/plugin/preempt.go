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
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// wanted is room that others can leave for.
type wanted struct {
	// gangs are the gang that asks, in the ways in which it can be given more. The first one that is helped is.
	gangs []*gang.Gang
	// among returns the possible victims.
	among func(gang.Rank, []fwk.NodeInfo, preemption.PodGroups, preemption.Budgets) (*preemption.Candidates, error)
}

// maxRaised is for how many groups that a gang can do without room is looked for in one scheduling cycle.
const maxRaised = 4

// wants says what others can leave for, once a gang was given an answer without nodes: for all of a gang that does not
// fit, and for a group that it can do without if it has the others.
func (r *request) wants(answer *solve.Answer) wanted {
	switch {
	case answer == nil || answer.Overtaking:
		return wanted{}
	case refused(answer):
		return wanted{[]*gang.Gang{r.Gang}, preemption.CandidatesFor}
	case answer.Verdict == scheduling.ReasonPlaced && len(answer.Nodes) == 0:
		raised := r.Raised()
		return wanted{raised[:min(len(raised), maxRaised)], preemption.LeftoversBelow}
	default:
		return wanted{}
	}
}

// makeRoom looks for victims, once the gang of a pod was found not to fit, or to have no room for more. It is called
// for the pod with that decision; the other pods of the gang share the answer.
//
// Everything is decided before anything is written, and the process may end after each step: first the pods of the gang
// get their nominated nodes, then the victims are deleted. The next scheduler finds the gang waiting, sees from the
// nominated nodes which domain was being cleared, counts the room of terminating pods as free, and evicts the rest.
func (p *Plugin) makeRoom(ctx context.Context, pod *corev1.Pod) error {
	key, _ := p.lister.KeyOf(pod)
	known := p.gangs.View(key)
	if known.AskedBy != pod.UID {
		return nil
	}
	asked, held, err := p.read(key, pod, nil)
	if err != nil || held != nil || asked.lacks != nil {
		return err
	}
	wants := asked.wants(known.Last)
	if len(wants.gangs) == 0 {
		return nil
	}
	if given, err := p.giveBack(ctx, asked.Pending); given || err != nil {
		return err
	}
	if refused(known.Last) && p.gangs.Reserved(asked.Rank(), nil).Below {
		// Room that is reserved now is soon used by pods that can be victims.
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
	return p.preempt(ctx, asked, wants)
}

func (p *Plugin) preempt(ctx context.Context, asked *request, wants wanted) error {
	choice, err := p.choose(ctx, asked, wants)
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

// choose returns the victims for the first of the wanted gangs that they help; nil if they help none.
func (p *Plugin) choose(ctx context.Context, asked *request, wants wanted) (*preemption.Choice, error) {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	var err error
	if asked.nodes, err = nodes.List(); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	budgets, err := budgetsOf(p.pdbs)
	if err != nil {
		return nil, err
	}
	candidates, err := wants.among(asked.Rank(), asked.nodes, p.seated, budgets)
	if err != nil || candidates.Empty() {
		return nil, err
	}
	for _, asked.Gang = range wants.gangs {
		request, _, err := p.ask(asked.Gang, nil, asked.nodes)
		if err != nil {
			return nil, err
		}
		choice, err := preemption.Find(ctx, preemption.Request{
			Request: request.Keeping(), Snapshot: nodes, Candidates: candidates,
			Decide: func() (*solve.Answer, error) {
				without, _, err := p.ask(asked.Gang, nil, asked.nodes)
				if err != nil {
					return nil, err
				}
				return solve.Solve(ctx, without)
			},
		})
		if choice != nil || err != nil {
			return choice, err
		}
	}
	return nil, nil
}

// seated returns a PodGroup with the seats that are held for it now, which its status says a moment later.
func (p *Plugin) seated(key gang.Key) (*scheduling.PodGroup, error) {
	podGroup, err := p.lister.PodGroup(key)
	if err != nil {
		return nil, err
	}
	seated := *podGroup
	seated.Status.Seats = p.gangs.Status(podGroup).Seats
	return &seated, nil
}

func budgetsOf(pdbs policylisters.PodDisruptionBudgetLister) (preemption.Budgets, error) {
	found, err := pdbs.List(labels.Everything())
	if err != nil {
		return preemption.Budgets{}, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	return preemption.BudgetsOf(found), nil
}

// nominationsOf are the nominated nodes that an earlier scheduler wrote, to be removed once no victims help the gang.
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
	changed, effects := p.gangs.Preempting(asked.Gang, asked.version, asked.pod, placements,
		awaited.Difference(waiting), choice.String(), seen{p})
	p.effects.do(effects)
	p.missed(choice.Awaited...)
	if changed != "" || len(choice.Victims) == 0 {
		return
	}
	klog.FromContext(ctx).Info("Making room for a gang", "podGroup", asked.Key(), "priority", asked.Priority(),
		"pods", len(choice.Victims), "wholeGangs", choice.Broken, "where", choice.Where)
	metrics.MadeRoom(len(choice.Victims), choice.Broken)
	go p.effects.evict(context.WithoutCancel(ctx), eviction{
		Choice: choice, gang: asked.Gang, placements: placements, waiting: waiting,
	})
}
