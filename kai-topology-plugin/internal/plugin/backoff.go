package plugin

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// rounds counts in how many rounds of scheduling a gang was tried and did not fit. It is memory only: a scheduler that starts
// anew tries every gang once more.
type rounds struct {
	mu    sync.Mutex
	gangs map[gang.Key]round
}

// round is a count for one generation of a PodGroup.
type round struct {
	generation int64
	failed     int32
}

// fail counts another round.
func (r *rounds) fail(podGroup *scheduling.PodGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gangs == nil {
		r.gangs = map[gang.Key]round{}
	}
	known := r.gangs[keyOfPodGroup(podGroup)]
	if known.generation != podGroup.Generation {
		known = round{generation: podGroup.Generation}
	}
	known.failed++
	r.gangs[keyOfPodGroup(podGroup)] = known
}

// forget begins to count anew.
func (r *rounds) forget(key gang.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.gangs, key)
}

func (r *rounds) failed(podGroup *scheduling.PodGroup) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.gangs[keyOfPodGroup(podGroup)]; known.generation == podGroup.Generation {
		return known.failed
	}
	return 0
}

// givenUp says why a gang is not tried any more, empty if it is: it was tried as often as its schedulingBackoff says.
func (p *Plugin) givenUp(podGroup *scheduling.PodGroup) string {
	limit := ptr.Deref(podGroup.Spec.SchedulingBackoff, scheduling.NoSchedulingBackoff)
	failed := p.rounds.failed(podGroup)
	if limit <= 0 || failed < limit {
		return ""
	}
	return fmt.Sprintf("not tried again after %d rounds, which is schedulingBackoff: change the spec of PodGroup %s, or take %s out of its status.schedulingConditions",
		failed, podGroup.Name, scheduling.UnschedulableOnNodePool)
}

// unmarked reports whether an update took the mark off a gang that was given up.
func unmarked(old, podGroup *scheduling.PodGroup) bool {
	return marked(old) && !marked(podGroup)
}

func marked(podGroup *scheduling.PodGroup) bool {
	for i := range podGroup.Status.SchedulingConditions {
		mark := &podGroup.Status.SchedulingConditions[i]
		if mark.Type == scheduling.UnschedulableOnNodePool && mark.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
