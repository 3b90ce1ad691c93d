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

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// makeRoom looks for others who can leave, once the gang of a pod was found not to fit. It is for the pod for which
// that was decided; the others of the gang share the answer.
//
// Everything is decided before anybody is told, and each step that follows can be the last one of this process: first
// the pods of the gang are told their future nodes, then the victims are deleted. Whoever schedules next finds the
// gang waiting, sees from those nodes which domain was being cleared, counts the room of those who are leaving
// already as free, and lets the rest leave.
func (p *Plugin) makeRoom(ctx context.Context, pod *corev1.Pod) error {
	key, _ := gang.KeyOf(p.latest(pod))
	answer := p.gangs.AskedBy(key, pod.UID)
	if answer == nil || answer.Verdict != scheduling.ReasonInfeasible && answer.Verdict != scheduling.ReasonUnknown {
		return nil
	}
	asked, held, err := p.read(key, pod, nil)
	if err != nil || held != nil {
		return err
	}
	if p.gangs.ReservesBelow(asked.Rank()) {
		// Room that is reserved now is used, a moment later, by those who can be asked to leave.
		p.gangs.TurnAway(pod)
	}
	if forbids(asked.Gang) {
		return nil
	}
	may, effects := p.gangs.MayPreempt(asked.PodGroup, p.clock.Now())
	p.do(effects)
	if !may {
		return nil
	}
	return p.preempt(ctx, asked)
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

func (p *Plugin) preempt(ctx context.Context, asked *request) error {
	nodes := p.handle.SnapshotSharedLister().NodeInfos()
	var err error
	if asked.nodes, err = nodes.List(); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	crowd, err := p.crowdAround(asked.Gang, asked.nodes)
	if err != nil || crowd.stays() {
		return err
	}
	choice, err := p.choose(ctx, asked.Gang, nodes, asked.nodes, crowd)
	if err != nil {
		return fmt.Errorf("looking for room for gang %s: %w", asked.Key(), err)
	}
	if choice != nil && p.outdated(choice) {
		// A victim is gone, which the nodes of this cycle do not show yet. The gang is woken when they do.
		return nil
	}
	p.do(p.gangs.EndPreemption(asked.Key()))
	if choice == nil {
		p.unnominate(nominationsOf(asked.Gang))
		return nil
	}
	p.clear(ctx, asked, choice)
	return nil
}

// nominationsOf are the nodes that pods of a gang were told by a scheduler that died, to be taken back once nobody's
// leaving helps it.
func nominationsOf(assembled *gang.Gang) (told []gangstate.Placement) {
	for _, pod := range assembled.Pending {
		if pod.Status.NominatedNodeName != "" {
			told = append(told, gangstate.Placement{Pod: pod})
		}
	}
	return told
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

// choice is who leaves for a gang, and where its pods then go.
type choice struct {
	victims []victim
	// placements are where the pods of the gang then go.
	placements []gangstate.Placement
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
func (p *Plugin) clear(ctx context.Context, asked *request, choice *choice) {
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
	choice.placements = p.placements(asked.Gang, choice.nodes, nil)
	for _, placement := range choice.placements {
		p.nominate(ctx, placement)
	}
	p.do(p.gangs.Preempting(asked.Gang, asked.version, asked.pod, choice.placements, awaited, sentenceOf(choice)))
	p.missed(choice)
	if len(choice.victims) == 0 {
		return
	}
	klog.FromContext(ctx).Info("Making room for a gang", "podGroup", asked.Key(), "priority", asked.Priority(),
		"pods", len(choice.victims), "wholeGangs", choice.broken, "where", choice.where)
	metrics.MadeRoom(len(choice.victims), choice.broken)
	go p.evict(context.WithoutCancel(ctx), asked.Gang, choice)
}

// missed looks for pods that were gone before anybody waited for them.
func (p *Plugin) missed(choice *choice) {
	for _, awaited := range choice.awaited {
		if p.isGone(awaited) {
			p.do(p.gangs.Left(awaited.UID))
		}
	}
}

// nominate lets kube-scheduler know at once, before the API server does, where a pod will go.
func (p *Plugin) nominate(ctx context.Context, placement gangstate.Placement) {
	info, err := framework.NewPodInfo(placement.Pod)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Nominating a node", "pod", klog.KObj(placement.Pod))
		return
	}
	p.handle.AddNominatedPod(klog.FromContext(ctx), info, &fwk.NominatingInfo{
		NominatedNodeName: placement.Node, NominatingMode: fwk.ModeOverride,
	})
}
