package plugin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
)

// permitTimeout is how long a pod waits on its node for the rest of its gang. All of the gang is in the queue by then and
// takes milliseconds a pod, so this is for what nobody foresaw; the plan is then made anew.
const permitTimeout = 2 * time.Minute

// Permit lets a pod wait until the minima of its gang's tree have nodes, and then lets all pods of the gang go.
func (p *Plugin) Permit(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) (*fwk.Status, time.Duration) {
	pod = p.latest(pod)
	key, member := gang.KeyOf(pod)
	if !member {
		return nil, 0
	}
	if p.book.Released(key, pod.UID) {
		p.releaseGang(key, pod)
		return nil, 0
	}
	satisfied, err := p.satisfied(key)
	if err != nil {
		return fwk.AsStatus(err), 0
	}
	if !satisfied {
		return fwk.NewStatus(fwk.Wait, "waiting for the other pods that the gang needs"), permitTimeout
	}
	if !p.releaseGang(key, pod) {
		return fwk.NewStatus(fwk.Unschedulable, "the plan of the gang was broken"), 0
	}
	return nil, 0
}

// releaseGang lets all pods of a gang go whose minima have their nodes, now that this pod has its own. It reports false if the
// plan was broken meanwhile.
func (p *Plugin) releaseGang(key gang.Key, pod *corev1.Pod) bool {
	release, ok := p.book.LetGo(key, pod.UID)
	if !ok {
		return false
	}
	for _, uid := range release.Waited {
		if waiting := p.handle.GetWaitingPod(uid); waiting != nil {
			waiting.Allow(Name)
		}
	}
	if release.First {
		klog.Background().Info("Gang let go", "podGroup", key, "pods", len(release.Waited))
		metrics.GangLetGo()
	}
	if len(release.Waited) > 0 {
		p.verdicts.Forget(key)
		p.stopWaiting(key)
		p.planClosed(key)
	}
	if release.Ended {
		p.wake(key) // What the plan left out may be planned now.
	}
	return true
}

// satisfied reports whether the pods that stand, or have been put on a node, are all that the gang needs.
func (p *Plugin) satisfied(key gang.Key) (bool, error) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return false, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	tree, held := p.outlines.of(podGroup, p.levels)
	return held == nil && p.roster.OnNodes(key, tree), nil
}
