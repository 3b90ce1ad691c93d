package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/foresight"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/plans"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// plannedKey is where the cycle of a gang's pod holds the node that it was planned for.
const plannedKey fwk.StateKey = "packtree.dev/planned"

type planned struct {
	gang       gang.Key
	generation int64
	node       string
}

// Clone returns the plan itself: it does not change.
func (p planned) Clone() fwk.StateData { return p }

// PreFilter gives a pod of a gang the one node that it was planned for. The first pod to come plans the whole gang.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if kubeframework.InRehearsal(state) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	pod = p.latest(pod)
	key, member := gang.KeyOf(pod)
	if !member {
		return nil, p.prepareReservations(state, pod)
	}
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return nil, hold(fmt.Sprintf("waiting for PodGroup %s to be created", key.Name))
	}
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("reading PodGroup %s: %w", key, err))
	}
	node, status := p.nodeFor(ctx, podGroup, pod, nodes)
	if !status.IsSuccess() {
		return nil, status
	}
	state.Write(plannedKey, planned{gang: key, generation: podGroup.Generation, node: node})
	return &fwk.PreFilterResult{NodeNames: sets.New(node)}, nil
}

// PreFilterExtensions returns nil: what Filter compares does not depend on single pods.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (p *Plugin) nodeFor(ctx context.Context, podGroup *scheduling.PodGroup, pod *corev1.Pod, nodes []fwk.NodeInfo) (string, *fwk.Status) {
	key := keyOfPodGroup(podGroup)
	switch node, standing := p.book.Find(key, podGroup.Generation, pod.UID); standing {
	case plans.Planned:
		return node, nil
	case plans.TooEarly:
		return "", tooEarly()
	case plans.LeftOut:
		return "", fwk.NewStatus(fwk.Unschedulable, "waiting for the pods that its gang needs to be placed first")
	case plans.Unplanned:
	}
	if waiting := p.book.Waiting(key); len(waiting) > 0 {
		// They wait for a plan that is no more. Planned around, they would tie the gang to nodes that it has not got.
		p.sendBack(waiting, "the plan of the gang was broken")
		return "", fwk.NewStatus(fwk.Unschedulable, "waiting for the nodes of a broken plan to be given back")
	}
	if answer := p.verdicts.Repeat(key, podGroup.Generation, pod.UID); answer != nil {
		return "", fwk.NewStatus(fwk.Unschedulable, answer.Message)
	}
	if reason := p.givenUp(podGroup); reason != "" {
		return "", hold(reason)
	}
	return p.plan(ctx, podGroup, pod, nodes)
}

// plan decides the whole gang on the nodes as they are, and opens the plan if there is one.
func (p *Plugin) plan(ctx context.Context, podGroup *scheduling.PodGroup, pod *corev1.Pod, nodes []fwk.NodeInfo) (string, *fwk.Status) {
	doubtIfChanged := p.remembering(keyOfPodGroup(podGroup))
	topologies := p.outlines.version()
	assembled, held, err := p.assemble(podGroup)
	if err != nil {
		return "", fwk.AsStatus(err)
	}
	if held != nil {
		return "", hold(held.Message)
	}
	if answer := p.stillTrue(ctx, podGroup, assembled, nodes); answer != nil {
		if p.verdicts.Asked(keyOfPodGroup(podGroup), pod.UID) != nil {
			p.account(assembled, answer, nodes, p.room.Load()) // Another round in which the gang was tried.
		}
		return "", fwk.NewStatus(fwk.Unschedulable, answer.Message)
	}
	began := time.Now()
	answer, err := p.decide(ctx, assembled, nodes)
	if err != nil {
		return "", fwk.AsStatus(fmt.Errorf("planning gang %s: %w", klog.KObj(podGroup), err))
	}
	metrics.Decided(answer.Verdict, answer.Steps, 0, time.Since(began))
	key := keyOfPodGroup(podGroup)
	p.logDecision(key, answer)
	defer p.status.Enqueue(key)
	answer = p.whileRoomIsMade(key, answer)
	last := p.verdicts.Last(key)
	p.verdicts.Remember(key, podGroup.Generation, pod.UID, answer)
	if answer.Verdict != scheduling.ReasonPlaced {
		defer doubtIfChanged()
		if last != nil && last.Verdict == scheduling.ReasonWaiting && answer.Verdict != scheduling.ReasonWaiting {
			p.givenBack(key) // It had a plan, or others left for it.
		}
		if last != nil && last.Message != answer.Message {
			p.call(assembled.Pending, pod) // They have been told something else, and do not ask by themselves.
		}
		return "", fwk.NewStatus(fwk.Unschedulable, answer.Message)
	}
	if len(answer.Nodes) > 0 {
		p.open(podGroup, assembled, answer, pod)
		if reason := p.overtaken(assembled, topologies); reason != "" {
			p.breakPlan(key, metrics.GangChanged, reason)
			p.activate([]*corev1.Pod{pod})
			return "", fwk.NewStatus(fwk.Unschedulable, reason)
		}
	}
	if _, standing := p.book.Find(key, podGroup.Generation, pod.UID); standing == plans.TooEarly {
		return "", tooEarly()
	}
	node, ok := answer.Nodes[pod.Name]
	if !ok {
		return "", fwk.NewStatus(fwk.Unschedulable, cmp.Or(answer.Message, "no node has room for a further pod of the gang"))
	}
	return node, nil
}

// tooEarly turns away a pod that the filters would not accept yet: see plans.Placement. Reserve calls it when its turn comes.
func tooEarly() *fwk.Status {
	return fwk.NewStatus(fwk.Unschedulable, "waiting for its turn in the plan of its gang")
}

// logDecision logs what was decided about a gang, if it is something else than the last time. The logger is not that of the
// pod that happened to come first.
func (p *Plugin) logDecision(key gang.Key, answer *decision.Answer) {
	logger := klog.Background()
	if last := p.verdicts.Last(key); last != nil && last.Verdict == answer.Verdict && len(answer.Nodes) == 0 {
		logger = logger.V(3)
	}
	logger.Info("Gang decided", "podGroup", key, "verdict", answer.Verdict,
		"pods", len(answer.Nodes), "steps", answer.Steps, "message", answer.Message)
}

// stillTrue returns the last answer for a gang if nothing has happened since that could change it: the gang was woken by an
// event that turned out to be of no use, or because it has waited for long.
func (p *Plugin) stillTrue(ctx context.Context, podGroup *scheduling.PodGroup, assembled *gang.Gang, nodes []fwk.NodeInfo) *decision.Answer {
	answer := p.verdicts.Current(keyOfPodGroup(podGroup), podGroup.Generation)
	if answer == nil || assembled.Company != nil {
		return nil
	}
	var reserved clusterview.Reserved
	if answer.Basis.Reserves() {
		reserved = p.reservedFor(assembled, nodes)
		p.keep(ctx, assembled, nodes, reserved)
	}
	if !p.view.Holds(answer.Basis, nodes, reserved) {
		return nil
	}
	return answer
}

func (p *Plugin) decide(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo) (*decision.Answer, error) {
	room := p.room.Load()
	answer, err := p.inTurn(ctx, assembled, nodes)
	if err != nil {
		return nil, err
	}
	p.account(assembled, answer, nodes, room)
	return answer, nil
}

// answer decides a gang without consequences.
func (p *Plugin) answer(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo) (*decision.Answer, error) {
	if err := p.meetCompany(assembled); err != nil {
		return nil, err
	}
	followers, err := p.followersOf(assembled)
	if err != nil {
		return nil, err
	}
	topologies, err := p.topologiesOf(append(followers, assembled)...)
	if err != nil {
		return nil, err
	}
	reserved := p.reservedFor(assembled, nodes)
	note := p.keep(ctx, assembled, nodes, reserved)
	answer, err := foresight.Decide(ctx, decision.Question{
		Gang:       assembled,
		Topologies: topologies,
		View:       p.view,
		Nodes:      nodes,
		Reserved:   reserved,
		Placement:  p.placement,
	}, followers)
	if err != nil {
		return nil, err
	}
	if note != "" && answer.Message != "" {
		answer.Message += "; " + note
	}
	return answer, nil
}

// open makes an answer the plan of its gang and calls the pods of the gang, but for the one that is here already.
func (p *Plugin) open(podGroup *scheduling.PodGroup, assembled *gang.Gang, answer *decision.Answer, here *corev1.Pod) {
	begun := assembled.Satisfied(gang.NoPending)
	if !begun {
		p.ranks.Forget(keyOfPodGroup(podGroup)) // None of them is being bound.
	}
	placements := p.placements(assembled, answer)
	p.book.Open(keyOfPodGroup(podGroup), podGroup.Generation, begun, placements)
	p.cleared(keyOfPodGroup(podGroup))
	redeemed := p.promises.Redeem(keyOfPodGroup(podGroup), placements)
	p.promise(assembled, answer)
	for _, pod := range assembled.Pending {
		// What an earlier plan wanted would count against this one.
		p.handle.DeleteNominatedPodIfExists(pod)
	}
	p.call(assembled.Pending, here)
	if redeemed {
		p.givenBack(keyOfPodGroup(podGroup)) // It may have been planned elsewhere than where room was kept for it.
	}
}

// call has pods come, but for the one that is here already.
func (p *Plugin) call(pods []*corev1.Pod, here *corev1.Pod) {
	p.activate(slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.UID == here.UID }))
}

func (p *Plugin) placements(assembled *gang.Gang, answer *decision.Answer) []plans.Placement {
	keys := p.levelKeys(assembled)
	turns := make(map[string]int, len(answer.Order))
	for i, name := range answer.Order {
		turns[name] = i + 1
	}
	var result []plans.Placement
	for _, pod := range assembled.Pending {
		if node, ok := answer.Nodes[pod.Name]; ok {
			var place plans.Place
			if seen, err := p.handle.SnapshotSharedLister().NodeInfos().Get(node); err == nil {
				place = plans.PlaceOf(keys, seen.Node().Labels)
			}
			result = append(result, plans.Placement{Pod: pod, Node: node, Place: place, Turn: turns[pod.Name]})
		}
	}
	return result
}

// reservedFor returns the room that the gang must leave alone: that of other gangs' plans and followers, and that which lower
// pods have been asked to clear for others of at least the gang's priority.
func (p *Plugin) reservedFor(assembled *gang.Gang, nodes []fwk.NodeInfo) map[string][]*corev1.Pod {
	rank := assembled.Rank()
	reserved := p.book.Reserved(rank.Gang)
	p.reservedByPromises(reserved, rank.Gang, rank.Priority)
	for node, pods := range p.clearings.Reserved(rank.Gang, rank.Priority) {
		reserved[node] = append(reserved[node], pods...)
	}
	for _, node := range nodes {
		name := node.Node().Name
		for _, nominated := range p.handle.NominatedPodsForNode(name) {
			pod := nominated.GetPod()
			switch {
			case p.inGang(pod) && p.makingRoomFor(pod):
				// Counted already, or of no concern to the gang.
			case p.inGang(pod) && p.undecided(pod, rank):
				reserved[name] = append(reserved[name], p.latest(pod))
			case p.inGang(pod):
				// Left from a plan that did not come true. Gangs have no claim but their plan, and kube-scheduler's filters
				// would honour this one.
				p.handle.DeleteNominatedPodIfExists(pod)
			case kubeframework.Priority(pod) >= rank.Priority:
				reserved[name] = append(reserved[name], pod)
			}
		}
	}
	return reserved
}
