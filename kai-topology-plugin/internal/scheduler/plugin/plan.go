package plugin

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// request is a gang that is being decided, as it was read, and the state of things when it was.
type request struct {
	*gang.Gang
	version gangstate.Version
	began   gangstate.Moment
	// pod is the one that asks for it; nil if none does.
	pod   *corev1.Pod
	nodes []fwk.NodeInfo
	// ahead counts the gangs of higher rank that were decided first: see planAhead.
	ahead int
	// lacks is what the gang is held for, if it is not mended; nil if it has pods enough.
	lacks *gang.Hold
}

// maxAhead is how many gangs of higher rank are decided in the scheduling cycle of another one.
const maxAhead = 4

// read assembles a gang that is to be decided, and what keeps it from being.
func (p *Plugin) read(key gang.Key, pod *corev1.Pod, nodes []fwk.NodeInfo) (*request, *gang.Hold, error) {
	read := &request{began: p.gangs.Now(), pod: pod, nodes: nodes}
	podGroup, err := p.lister.PodGroup(key)
	if err != nil {
		return nil, nil, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	read.version = p.lister.VersionOf(podGroup)
	assembled, held, err := p.lister.Assemble(podGroup)
	read.Gang, read.lacks = assembled, held
	return read, planner.Hold(&cycle{Plugin: p}, assembled, held), err
}

// plan decides the whole gang of a pod on the nodes as they are, and opens the plan if there is one. It returns the
// node of the pod.
func (p *Plugin) plan(ctx context.Context, key gang.Key, pod *corev1.Pod, nodes []fwk.NodeInfo) (string, *fwk.Status) {
	asked, held, err := p.read(key, pod, nodes)
	if err != nil {
		return "", fwk.AsStatus(err)
	}
	if held != nil {
		p.holdUntilPlannable(key, pod)
		return "", hold(held.Message)
	}
	if answer := p.stillTrue(asked); answer != nil {
		if p.gangs.View(key).AskedBy == pod.UID {
			p.account(asked, answer) // Another round in which the gang was tried.
		}
		return "", fwk.NewStatus(fwk.Unschedulable, answer.Message)
	}
	began := time.Now()
	answer, err := p.answer(ctx, asked)
	for again := true; again && err == nil; {
		var yields bool
		if again, yields, err = p.planAhead(ctx, asked, answer); yields {
			p.effects.activate([]*corev1.Pod{pod})
			return "", hold("gangs that rank higher are decided first")
		}
		if again && err == nil {
			answer, err = p.answer(ctx, asked)
		}
	}
	if err == nil {
		answer, err = p.afterReserving(ctx, asked, answer)
	}
	if err != nil {
		return "", fwk.AsStatus(fmt.Errorf("planning gang %s: %w", key, err))
	}
	metrics.Decided(answer.Verdict, answer.Steps, 0, time.Since(began))
	p.account(asked, answer)
	if len(answer.Nodes) == 0 {
		return "", fwk.NewStatus(fwk.Unschedulable, cmp.Or(p.refuse(asked, answer).Message, noRoom))
	}
	if reason := p.open(asked, answer); reason != "" {
		p.effects.activate([]*corev1.Pod{pod})
		return "", fwk.NewStatus(fwk.Unschedulable, reason)
	}
	reply, effects := p.gangs.Ask(key, asked.version, pod.UID)
	p.effects.do(effects)
	if _, planned := answer.Nodes[pod.Name]; !planned {
		return "", fwk.NewStatus(fwk.Unschedulable, cmp.Or(answer.Message, noRoom))
	}
	if reply.Node == "" {
		return "", fwk.NewStatus(fwk.Unschedulable, cmp.Or(reply.Wait, "the plan of the gang was changed"))
	}
	return reply.Node, nil
}

// holdUntilPlannable has a pod wait for its gang as if PreEnqueue had held it. That had let it pass, because what the
// caches show may be ahead of the events: if it still would, the pod tries again after its backoff.
func (p *Plugin) holdUntilPlannable(key gang.Key, pod *corev1.Pod) {
	if p.queued(key, pod) == "" {
		p.effects.activate([]*corev1.Pod{pod})
	}
}

const noRoom = "no node has room for a further pod of the gang"

// planAhead plans a gang that ranks higher, waits for room that an answer would take, and has not been tried since room
// became free. It reports whether there is one that is planned now, so that the answer is of no use any more. The queue
// alone does not see to that: a pod that was turned away comes back after a backoff, which grows with the time that it
// waits.
//
// After maxAhead gangs the gang yields: its pod goes back to the queue, and the next cycle goes on with the others.
func (p *Plugin) planAhead(
	ctx context.Context, asked *request, answer *solve.Answer,
) (planned, yields bool, err error) {
	for ; len(answer.Nodes) > 0; asked.ahead++ {
		taking := overtaking.TakingOf(asked.Gang, answer)
		ahead, yields := p.gangs.Ahead(taking, p.view.Bettered(), asked.ahead < maxAhead)
		if yields || ahead == (gang.Key{}) {
			return false, yields, nil
		}
		if planned, err := p.planWaiting(ctx, ahead, asked.nodes); planned || err != nil {
			return planned, false, err
		}
	}
	return false, false, nil
}

// planWaiting plans a gang that waits, without a pod of it here. It reports whether there is a plan.
func (p *Plugin) planWaiting(ctx context.Context, key gang.Key, nodes []fwk.NodeInfo) (bool, error) {
	asked, held, err := p.read(key, nil, nodes)
	if apierrors.IsNotFound(err) {
		return false, nil // Word of that is on its way.
	}
	if err != nil || held != nil {
		return false, err
	}
	answer, err := p.answer(ctx, asked)
	if err == nil {
		answer, err = p.afterReserving(ctx, asked, answer)
	}
	if err != nil {
		return false, err
	}
	p.account(asked, answer)
	if len(answer.Nodes) == 0 {
		return false, nil
	}
	return p.open(asked, answer) == "", nil
}

// answer decides a gang. The snapshot may be ahead of the events that report room, or behind them: turns depend on the
// room that decisions see.
func (p *Plugin) answer(ctx context.Context, asked *request) (*solve.Answer, error) {
	request, stale, err := p.ask(asked.Gang, asked.lacks, asked.nodes)
	if err != nil {
		return nil, err
	}
	for _, pod := range stale {
		p.handle.DeleteNominatedPodIfExists(pod)
	}
	return solve.Solve(ctx, request)
}

// refuse records that a gang gets no node, and returns what to say of it.
func (p *Plugin) refuse(asked *request, answer *solve.Answer) *solve.Answer {
	p.logDecision(asked.Key(), answer)
	reply, effects := p.gangs.Refused(asked.Gang, asked.version, asked.pod, answer, asked.began)
	p.effects.do(effects)
	return reply
}

// open makes an answer the plan of its gang. It returns what has changed since the gang was read, "" if nothing: later
// changes break the open plan, but earlier ones could not know of it.
func (p *Plugin) open(asked *request, answer *solve.Answer) string {
	p.logDecision(asked.Key(), answer)
	taking := overtaking.TakingOf(asked.Gang, answer)
	if answer.Verdict != scheduling.ReasonPlaced {
		asked.Gang = asked.Mending()
	}
	placements := p.placements(asked.Gang, answer.Nodes, answer.Order)
	p.effects.do(p.gangs.Planned(asked.Gang, asked.version, asked.pod, answer, placements, taking, p.clock.Now()))
	for _, pod := range asked.Pending {
		// What an earlier plan wanted would count against this one.
		p.handle.DeleteNominatedPodIfExists(pod)
	}
	changed, effects := p.gangs.Confirm(asked.Gang, asked.version, placements, seen{p})
	p.effects.do(effects)
	return changed
}

// logDecision logs what was decided about a gang, if it is something else than the last time. The logger is not that
// of the pod that happened to come first.
func (p *Plugin) logDecision(key gang.Key, answer *solve.Answer) {
	logger := klog.Background()
	if last := p.gangs.View(key).Last; last != nil && last.Verdict == answer.Verdict && len(answer.Nodes) == 0 {
		logger = logger.V(3)
	}
	logger.Info("Gang decided", "podGroup", key, "verdict", answer.Verdict,
		"pods", len(answer.Nodes), "steps", answer.Steps, "message", answer.Message)
}

// stillTrue returns the last answer for a gang if nothing has happened since that could change it: the gang was woken
// by an event that turned out to be of no use, or because it has waited for long.
func (p *Plugin) stillTrue(asked *request) *solve.Answer {
	answer := p.gangs.View(asked.Key()).Current(asked.version)
	if answer == nil || asked.Shared != nil || asked.LooksAtOthers() {
		return nil // It rests on where other gangs stand, too.
	}
	var room clusterview.Reserved
	if answer.Basis.Reserves() {
		kept := (&cycle{Plugin: p, nodes: asked.nodes}).Kept(asked.Gang)
		if room = kept.Room; answer.Overtaking {
			room = room.And(kept.Overdue)
		}
	}
	if !p.view.Holds(answer.Basis, asked.nodes, room) {
		return nil
	}
	return answer
}

// placements are where the pods of a gang go, given the node of each by its name, and the order in which they have to
// be put on them if that matters.
func (p *Plugin) placements(assembled *gang.Gang, nodes map[string]string, order []string) []gangstate.Placement {
	var keys []string
	for _, topology := range assembled.Topologies() {
		levels := p.lister.LevelKeys(topology)
		keys = append(keys, levels...)
	}
	turns := make(map[string]int, len(order))
	for i, name := range order {
		turns[name] = i + 1
	}
	var result []gangstate.Placement
	for _, pod := range assembled.Pending {
		if node, ok := nodes[pod.Name]; ok {
			var place gangstate.Place
			if seen, err := p.handle.SnapshotSharedLister().NodeInfos().Get(node); err == nil {
				place = gangstate.PlaceOf(keys, seen.Node().Labels)
			}
			result = append(result, gangstate.Placement{Pod: pod, Node: node, Place: place, Turn: turns[pod.Name]})
		}
	}
	return result
}
