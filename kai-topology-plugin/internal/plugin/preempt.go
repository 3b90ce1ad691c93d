package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/plans"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// makeRoom looks for others who can leave, once the gang of a pod was found not to fit. It is for the pod for which that was
// decided; the others of the gang share the answer.
//
// Everything is decided before anybody is told, and each step that follows can be the last one of this process: first the
// pods of the gang are told their future nodes, then the victims are deleted. Whoever schedules next finds the gang waiting,
// sees from those nodes which domain was being cleared, counts the room of those who are leaving already as free, and lets
// the rest leave.
func (p *Plugin) makeRoom(ctx context.Context, pod *corev1.Pod) error {
	key, _ := gang.KeyOf(p.latest(pod))
	answer := p.verdicts.Asked(key, pod.UID)
	if answer == nil || answer.Verdict != scheduling.ReasonInfeasible && answer.Verdict != scheduling.ReasonUnknown {
		return nil
	}
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	assembled, held, err := p.assemble(podGroup)
	if err != nil || held != nil {
		return err
	}
	if p.reservesBelow(assembled.Rank()) {
		// Room that is reserved now is used, a moment later, by those who can be asked to leave.
		p.turned.add(pod)
	}
	if forbids(assembled) || !p.patience.over(assembled.PodGroup, func() { p.wake(key) }) {
		return nil
	}
	return p.preempt(ctx, pod, assembled)
}

// reservesBelow reports whether a plan reserves room for somebody less important than the gang.
func (p *Plugin) reservesBelow(rank gang.Rank) bool {
	for _, pods := range p.book.Reserved(rank.Gang) {
		for _, pod := range pods {
			if kubeframework.Priority(pod) < rank.Priority {
				return true
			}
		}
	}
	return false
}

// forbids reports whether a gang preempts nobody: because one of its pods must not.
func forbids(assembled *gang.Gang) bool {
	for _, pod := range assembled.Pending {
		if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
			return true
		}
	}
	return false
}

func (p *Plugin) preempt(ctx context.Context, pod *corev1.Pod, assembled *gang.Gang) error {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	all, err := nodes.List()
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	crowd, err := p.crowdAround(assembled, all)
	if err != nil || crowd.stays() {
		return err
	}
	choice, err := p.choose(ctx, assembled, nodes, all, crowd)
	if err != nil {
		return fmt.Errorf("looking for room for gang %s: %w", klog.KObj(assembled.PodGroup), err)
	}
	if choice != nil && p.outdated(choice) {
		// A victim is gone, which the nodes of this cycle do not show yet. The gang is woken when they do.
		return nil
	}
	p.giveUp(ctx, assembled.Rank().Gang)
	if choice == nil {
		p.forgetNominations(ctx, assembled)
		return nil
	}
	p.clear(ctx, pod, assembled, choice)
	return nil
}

// outdated reports whether the nodes of a cycle still show a victim that is deleted already.
func (p *Plugin) outdated(choice *choice) bool {
	for _, victim := range choice.victims {
		pod, err := p.pods.Pods(victim.pod.Namespace).Get(victim.pod.Name)
		if err != nil || pod.UID != victim.pod.UID || pod.DeletionTimestamp != nil {
			return true
		}
	}
	return false
}

// makingRoomFor reports whether others leave for the gang of a pod.
func (p *Plugin) makingRoomFor(pod *corev1.Pod) bool {
	_, _, open := p.clearings.State(keyOf(p.latest(pod)))
	return open
}

// undecided reports whether a pod was told its node by a scheduler that died since, and its gang has not had its turn here. Up
// to then gangs that are not above it leave the room alone.
func (p *Plugin) undecided(pod *corev1.Pod, asking gang.Rank) bool {
	pod = p.latest(pod)
	key := keyOf(pod)
	return key != asking.Gang && gang.Pending(pod) && pod.Status.NominatedNodeName != "" &&
		kubeframework.Priority(pod) >= asking.Priority && p.verdicts.Last(key) == nil && !p.held.any(key)
}

// whileRoomIsMade replaces the answer for a gang that does not fit yet, since it waits for others to leave.
func (p *Plugin) whileRoomIsMade(key gang.Key, answer *decision.Answer) *decision.Answer {
	awaited, message, open := p.clearings.State(key)
	if !open || awaited == 0 || answer.Verdict == scheduling.ReasonPlaced {
		return answer
	}
	return &decision.Answer{Verdict: scheduling.ReasonWaiting, Message: message, Groups: answer.Groups, Steps: answer.Steps}
}

// choice is who leaves for a gang, and where its pods then go.
type choice struct {
	victims []victim
	// awaited are the victims and those who are leaving already.
	awaited []*corev1.Pod
	nodes   map[string]string
	where   string
	broken  int
}

// victim is a pod that has to leave.
type victim struct {
	pod *corev1.Pod
	// gang is the zero value for a pod without one.
	gang gang.Key
	// waiting is set if the pod is on its node in memory only, and waits there for the rest of its gang.
	waiting bool
}

// clear holds the room, has the victims leave in the background, and lets the gang wait for it.
func (p *Plugin) clear(ctx context.Context, pod *corev1.Pod, assembled *gang.Gang, choice *choice) {
	rank := assembled.Rank()
	message := sentenceOf(choice)
	awaited := sets.New[types.UID]()
	for _, pod := range choice.awaited {
		awaited.Insert(pod.UID)
	}
	for i := range choice.victims {
		victim := &choice.victims[i]
		if victim.waiting = p.handle.GetWaitingPod(victim.pod.UID) != nil; victim.waiting {
			awaited.Delete(victim.pod.UID)
		}
	}
	clearing := &plans.Clearing{
		Priority: rank.Priority, Placements: p.placements(assembled, &decision.Answer{Nodes: choice.nodes}), Awaited: awaited, Message: message,
	}
	for _, placement := range clearing.Placements {
		p.nominate(ctx, placement)
	}
	p.clearings.Open(rank.Gang, clearing)
	p.waitForRoom(assembled, pod, message)
	p.missed(choice)
	if len(choice.victims) == 0 {
		return
	}
	klog.FromContext(ctx).Info("Making room for a gang", "podGroup", rank.Gang, "priority", rank.Priority,
		"pods", len(choice.victims), "wholeGangs", choice.broken, "where", choice.where)
	metrics.MadeRoom(len(choice.victims), choice.broken)
	go p.evict(context.WithoutCancel(ctx), assembled, choice)
}

// missed looks for pods that were gone before anybody waited for them.
func (p *Plugin) missed(choice *choice) {
	for _, awaited := range choice.awaited {
		if p.isGone(awaited) {
			p.left(awaited.UID)
		}
	}
}

// nominate lets kube-scheduler know at once, before the API server does, where a pod will go.
func (p *Plugin) nominate(ctx context.Context, placement plans.Placement) {
	info, err := framework.NewPodInfo(placement.Pod)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Nominating a node", "pod", klog.KObj(placement.Pod))
		return
	}
	p.handle.AddNominatedPod(klog.FromContext(ctx), info, &fwk.NominatingInfo{
		NominatedNodeName: placement.Node, NominatingMode: fwk.ModeOverride,
	})
}

// waitForRoom has the status of a gang, and its other pods, say that room is being made.
func (p *Plugin) waitForRoom(assembled *gang.Gang, pod *corev1.Pod, message string) {
	key := assembled.Rank().Gang
	p.verdicts.Remember(key, assembled.PodGroup.Generation, pod.UID, &decision.Answer{Verdict: scheduling.ReasonWaiting, Message: message})
	p.status.Enqueue(key)
	p.call(assembled.Pending, pod)
}

// giveUp forgets the room that was being made for a gang: others may use what of it is free.
func (p *Plugin) giveUp(ctx context.Context, key gang.Key) {
	clearing := p.clearings.Close(key)
	if clearing == nil {
		return
	}
	for _, placement := range clearing.Placements {
		p.handle.DeleteNominatedPodIfExists(placement.Pod)
	}
	p.givenBack(key)
	go p.unnominate(context.WithoutCancel(ctx), clearing.Placements)
}

// cleared is called when a gang has a plan: the room is held by that from now on.
func (p *Plugin) cleared(key gang.Key) {
	p.clearings.Close(key)
	p.patience.forget(key)
}

// left is for a pod that is gone, for whatever reason.
func (p *Plugin) left(pod types.UID) {
	for _, key := range p.clearings.Gone(pod) {
		p.verdicts.Forget(key)
		p.wake(key)
	}
}
