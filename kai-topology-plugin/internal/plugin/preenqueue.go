package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// PreEnqueue holds the pods of a gang until it can be planned: its PodGroup exists, is valid and refers to the topology that
// they were made for, and as many pods exist as its minima ask for.
func (p *Plugin) PreEnqueue(_ context.Context, pod *corev1.Pod) *fwk.Status {
	pod = p.latest(pod)
	if gang.Expected(pod) {
		return hold("waiting for the pod grouper to name the pod's PodGroup in annotation " + scheduling.AnnotationPodGroupName)
	}
	key, member := gang.KeyOf(pod)
	if !member {
		if p.plain.running(pod) {
			return hold("waiting for the preemption for this pod to be finished")
		}
		return nil
	}
	// Noted before the look: whoever changes the gang after the look then finds the pod.
	p.held.add(key, pod)
	reason, err := p.reasonToHold(key, pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if reason != "" {
		return hold(reason)
	}
	p.held.remove(key, pod.UID)
	return nil
}

func hold(reason string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}

// reasonToHold is empty if the gang can be planned. Pod may be nil.
func (p *Plugin) reasonToHold(key gang.Key, pod *corev1.Pod) (string, error) {
	if !p.opened.Load() {
		return "waiting for PodGroups and Topologies to be listed", nil
	}
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("waiting for PodGroup %s to be created", key.Name), nil
	}
	if err != nil {
		return "", fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	if reason := p.givenUp(podGroup); reason != "" {
		return reason, nil
	}
	tree, held := p.outlines.of(podGroup, p.levels)
	if held == nil {
		held = p.roster.Incomplete(key, tree)
	}
	switch {
	case held != nil:
		return held.Message, nil
	case pod != nil && gang.MadeForOther(podGroup, pod):
		return gang.OtherTopologyMessage(podGroup, pod), nil
	case pod != nil && tree.Leaf(gang.LeafOf(pod)) == nil:
		return fmt.Sprintf("subgroup %q is no leaf of PodGroup %s", gang.LeafOf(pod), key.Name), nil
	}
	if reason := p.awaitsFollower(podGroup); reason != "" {
		return reason, nil
	}
	if !meta.IsStatusConditionTrue(podGroup.Status.Conditions, scheduling.ConditionScheduled) {
		metrics.GangComplete(key)
	}
	return "", nil
}

// heldPods are the pods that PreEnqueue holds, by gang.
type heldPods struct {
	mu   sync.Mutex
	pods map[gang.Key]map[types.UID]*corev1.Pod
}

func newHeldPods() *heldPods {
	return &heldPods{pods: map[gang.Key]map[types.UID]*corev1.Pod{}}
}

func (h *heldPods) add(key gang.Key, pod *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pods[key] == nil {
		h.pods[key] = map[types.UID]*corev1.Pod{}
	}
	h.pods[key][pod.UID] = pod
}

func (h *heldPods) remove(key gang.Key, pod types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pods[key], pod)
	if len(h.pods[key]) == 0 {
		delete(h.pods, key)
	}
}

// any reports whether pods of the gang are held.
func (h *heldPods) any(key gang.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pods[key]) > 0
}

// take returns the held pods of a gang and forgets them.
func (h *heldPods) take(key gang.Key) []*corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	pods := slices.Collect(maps.Values(h.pods[key]))
	delete(h.pods, key)
	return pods
}

// gangs returns the gangs that have held pods.
func (h *heldPods) gangs() []gang.Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.pods))
}
