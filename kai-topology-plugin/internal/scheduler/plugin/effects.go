package plugin

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/clock"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	"packtree.dev/kai-topology-plugin/internal/scheduler/metrics"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
)

// executor does what follows from events: it is where the plugin writes to the scheduler and to the API server.
type executor struct {
	handle    fwk.Handle
	lister    *ganglister.Lister
	gangs     *gangstate.State
	clock     clock.PassiveClock
	status    *podgroupstatus.Writer
	announcer *gangevents.Announcer
	alarm     alarm
	// provided is sent when pods need not wait for volumes of others any more.
	provided broadcast
	// leads is set once this process schedules.
	leads atomic.Bool
	// roomChanged is called when room is kept, or kept no more, other than by pods on nodes.
	roomChanged func()
}

// do does what is to be done about an event.
func (e *executor) do(effects gangstate.Effects) {
	for _, uid := range effects.Allow {
		if pod := e.handle.GetWaitingPod(uid); pod != nil {
			pod.Allow(Name)
		}
	}
	if released := effects.Released; released != nil {
		klog.Background().Info("Gang let go", "podGroup", released.Gang, "pods", released.Pods)
		metrics.GangLetGo()
		if placed := released.Placement; placed != nil {
			metrics.GangPlaced(placed)
		}
	}
	for _, broken := range effects.Broken {
		klog.Background().Info("Gang's plan broken", "podGroup", broken.Gang, "reason", broken.Reason)
		metrics.PlanInvalidated(broken.Cause)
		// Where that goes on and on, the event is counted.
		e.announce(broken.Gang,
			gangevents.News{Type: corev1.EventTypeWarning, Reason: gangevents.PlanBroken, Note: broken.Reason})
	}
	for _, rejected := range effects.Reject {
		// Each of them then passes through Unreserve. A pod that is not in the list of waiting pods yet is swept by
		// Tick.
		if pod := e.handle.GetWaitingPod(rejected.Pod); pod != nil {
			pod.Reject(Name, rejected.Reason)
		}
	}
	if effects.Provided {
		e.provided.send()
	}
	e.activate(effects.Activate)
	e.reportSeats(effects.Seats)
	if e.roomChanged != nil && len(effects.Seats)+len(effects.Broken) > 0 {
		e.roomChanged()
	}
	for _, key := range effects.WriteStatus {
		e.writeStatus(key)
	}
	e.unnominate(effects.Nominations)
	if effects.Again > 0 {
		e.alarm.after(effects.Again, func() { e.do(e.gangs.Tick(e.clock.Now())) })
	}
}

// writeStatus has the status of a gang looked at. A process that does not lead would remember every gang that ever was:
// it looks at all when it begins to lead.
func (e *executor) writeStatus(key gang.Key) {
	if e.leads.Load() {
		e.status.Enqueue(key)
	}
}

// activate moves pods from wherever they wait in the queue to where they are taken from next.
func (e *executor) activate(pods []*corev1.Pod) {
	byName := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byName[pod.Namespace+"/"+pod.Name] = pod
	}
	if len(byName) > 0 {
		e.handle.Activate(klog.Background(), byName)
	}
}

// announce records an event about a PodGroup, if it still exists.
func (e *executor) announce(key gang.Key, news gangevents.News) {
	podGroup, err := e.lister.PodGroup(key)
	if err != nil {
		return // Deleted: there is nothing to report on.
	}
	e.announcer.Announce(gangevents.Subject{NamespacedName: key, UID: podGroup.UID}, news)
}

// unnominate removes the nominated nodes of pods: at once in the scheduler, and later in the API server. The latter
// only saves work: a reader finds that the gang has no claim.
func (e *executor) unnominate(placements []gangstate.Placement) {
	if len(placements) == 0 {
		return
	}
	for _, placement := range placements {
		e.handle.DeleteNominatedPodIfExists(placement.Pod)
	}
	go func() {
		for _, placement := range placements {
			pod := e.lister.Latest(placement.Pod)
			if e.gangs.View(keyOf(pod)).Preempts || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == "" {
				continue
			}
			if err := e.writeNomination(context.Background(), pod, ""); err != nil {
				klog.Background().Error(err, "Taking back a nomination")
			}
		}
	}()
}

// nominate lets kube-scheduler know at once, before the API server does, where a pod will go.
func (e *executor) nominate(ctx context.Context, placement gangstate.Placement) {
	info, err := framework.NewPodInfo(placement.Pod)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Nominating a node", "pod", klog.KObj(placement.Pod))
		return
	}
	e.handle.AddNominatedPod(klog.FromContext(ctx), info, &fwk.NominatingInfo{
		NominatedNodeName: placement.Node, NominatingMode: fwk.ModeOverride,
	})
}

// writeNomination writes where a pod will go; an empty node takes it back. A pod that is gone needs none.
func (e *executor) writeNomination(ctx context.Context, pod *corev1.Pod, node string) error {
	status := pod.Status.DeepCopy()
	status.NominatedNodeName = node
	if err := e.patchStatus(ctx, pod, status); err != nil {
		return fmt.Errorf("writing the nominated node of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// patchStatus writes the status of a pod, if it still exists.
func (e *executor) patchStatus(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	err := schedulerutil.PatchPodStatus(ctx, e.handle.ClientSet(), pod.Name, pod.Namespace, &pod.Status, status)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// alarm is the next moment at which a function runs, which says then when it is to run again.
type alarm struct {
	mu    sync.Mutex
	at    time.Time
	timer *time.Timer
}

// grain is by how much the alarm may be late: what is due together is done together.
const grain = 10 * time.Millisecond

// longest is after which the alarm goes off at the latest: a user may write of centuries, which are more nanoseconds
// than can be counted from 1970.
const longest = 24 * time.Hour

// after has the function run some time from now at the latest.
func (a *alarm) after(wait time.Duration, do func()) {
	at := time.Now().Add(min(wait, longest)).Truncate(grain).Add(grain)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		if !at.Before(a.at) {
			return
		}
		a.timer.Stop()
	}
	a.at = at
	a.timer = time.AfterFunc(time.Until(at), func() {
		a.mu.Lock()
		if a.at.Equal(at) {
			a.timer = nil
		}
		a.mu.Unlock()
		do()
	})
}
