package plugin

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/repair"
	"packtree.dev/kai-topology-plugin/internal/turns"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

// profiles are the names of the profiles of this process that have the plugin, each in an instance of its own. Pods
// that name one of them are placed here; those of other schedulers are not waited for.
type profiles struct {
	mu    sync.RWMutex
	names map[string]bool
	// podGroups is the same to all.
	podGroups schedulinglisters.PodGroupLister
	// shapes are those that the arguments of any profile name.
	shapes []capacity.Shape
	// forecasts are of the one cluster that all profiles place pods in.
	forecasts forecasts
	// copied is the copy of that cluster on which is decided what does not have to be at once.
	copied turns.Copy
}

// name adds shapes that the arguments of a profile name. One that another profile has named already stays what it is.
func (p *profiles) name(shapes []capacity.Shape) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, shape := range shapes {
		if !slices.ContainsFunc(p.shapes, func(known capacity.Shape) bool { return known.Name == shape.Name }) {
			p.shapes = append(p.shapes, shape)
		}
	}
}

func (p *profiles) named() []capacity.Shape {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.shapes)
}

// know gives the profiles a way to look at PodGroups.
func (p *profiles) know(podGroups schedulinglisters.PodGroupLister) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.podGroups = podGroups
}

// mark reports whether a pod of a gang that does not fit is to be marked unschedulable: unless its PodGroup says no.
func (p *profiles) mark(pod *corev1.Pod) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.podGroups == nil {
		return true
	}
	key := keyOf(pod)
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	return err != nil || ptr.Deref(podGroup.Spec.MarkUnschedulable, true)
}

// speaksFor reports whether it is for the profile of the given name to report on a gang: of those that its pods name it
// is the first, or the first of all if they name none.
func (p *profiles) speaksFor(name string, pods []*corev1.Pod) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	named := map[string]bool{}
	for _, pod := range pods {
		if p.names[pod.Spec.SchedulerName] {
			named[pod.Spec.SchedulerName] = true
		}
	}
	if len(named) == 0 {
		named = p.names
	}
	return name == slices.Min(slices.Collect(maps.Keys(named)))
}

func (p *profiles) add(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = map[string]bool{}
	}
	p.names[name] = true
}

func (p *profiles) have(scheduler string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.names[scheduler]
}

// forecasts is what profiles have agreed on about foretelling failures: one of them does it, and gives the result to
// all.
type forecasts struct {
	// every is the shortest interval that any profile asks for; 0 if none does.
	every   time.Duration
	claimed bool
	told    []func(map[gang.Key]gangstate.Repairability)
	// known is what was foretold. It belongs to whoever claimed them.
	known repair.Forecasts
}

// foretellEvery asks for failures to be foretold at intervals; 0 asks for nothing.
func (p *profiles) foretellEvery(interval time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if every := &p.forecasts.every; interval > 0 && (*every == 0 || interval < *every) {
		*every = interval
	}
}

// foretells reports whether failures are foretold.
func (p *profiles) foretells() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.forecasts.every > 0
}

// listen has a profile get what is foretold.
func (p *profiles) listen(told func(map[gang.Key]gangstate.Repairability)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forecasts.told = append(p.forecasts.told, told)
}

// claimForecasts returns the interval at which the caller is to foretell failures; 0 if nobody asks for it, or another
// profile does it.
func (p *profiles) claimForecasts() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forecasts.claimed {
		return 0
	}
	p.forecasts.claimed = p.forecasts.every > 0
	return p.forecasts.every
}

// tell gives all profiles what was foretold.
func (p *profiles) tell(round map[gang.Key]gangstate.Repairability) {
	p.mu.RLock()
	told := slices.Clone(p.forecasts.told)
	p.mu.RUnlock()
	for _, listener := range told {
		listener(round)
	}
}
