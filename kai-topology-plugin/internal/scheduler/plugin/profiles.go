package plugin

import (
	"maps"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/kai-topology-plugin/internal/scheduler/nativewatch"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

// profiles are those of this process that have the plugin, each in an instance of its own. They are made one after the
// other, and what they agree on is read meanwhile: each replaces it as a whole.
type profiles struct {
	agreed atomic.Pointer[agreement]
	// copied is the copy of the cluster on which is decided what does not have to be at once.
	copied turns.Copy
	zones  zoneWatch
	// natives are the PodGroups of Kubernetes.
	natives nativewatch.Watch
}

// agreement is what is the same to all profiles. It is not changed any more.
type agreement struct {
	// own is what each profile has of its own, by its name. Pods that name one of them are placed here; those of other
	// schedulers are not waited for.
	own       map[string]own
	podGroups schedulinglisters.PodGroupLister
	// shapes are the shapes in the arguments of any profile.
	shapes []capacity.Shape
}

func (p *profiles) now() agreement {
	if agreed := p.agreed.Load(); agreed != nil {
		return *agreed
	}
	return agreement{own: map[string]own{}}
}

// agree changes what profiles agree on, in a copy of it.
func (p *profiles) agree(change func(*agreement)) {
	next := p.now()
	next.own, next.shapes = maps.Clone(next.own), slices.Clip(next.shapes)
	change(&next)
	p.agreed.Store(&next)
}

// own is what a profile knows of gangs, and its hints on which events may help a pod of one.
type own struct {
	gangs *gangstate.State
	hints []hint
}

func (p *profiles) add(name string, own own) {
	p.agree(func(agreed *agreement) { agreed.own[name] = own })
}

func (p *profiles) have(scheduler string) bool {
	_, have := p.now().own[scheduler]
	return have
}

// name adds shapes that the arguments of a profile name. One that another profile has named already stays what it is.
func (p *profiles) name(shapes []capacity.Shape) {
	p.agree(func(agreed *agreement) {
		for _, shape := range shapes {
			if !slices.ContainsFunc(agreed.shapes, func(known capacity.Shape) bool { return known.Name == shape.Name }) {
				agreed.shapes = append(agreed.shapes, shape)
			}
		}
	})
}

// know gives the profiles a way to look at PodGroups.
func (p *profiles) know(podGroups schedulinglisters.PodGroupLister) {
	p.agree(func(agreed *agreement) { agreed.podGroups = podGroups })
}

// mark reports whether a pod of a gang that does not fit is to be marked unschedulable: unless its PodGroup says no.
func (p *profiles) mark(pod *corev1.Pod) bool {
	podGroups := p.now().podGroups
	if podGroups == nil {
		return true
	}
	key := keyOf(pod)
	podGroup, err := podGroups.PodGroups(key.Namespace).Get(key.Name)
	return err != nil || ptr.Deref(podGroup.Spec.MarkUnschedulable, true)
}

// speaksFor reports whether the profile of the given name reports on a gang: it is the first of the profiles that the
// pods name, or the first of all if they name none.
func (p *profiles) speaksFor(name string, pods []*corev1.Pod) bool {
	all, named := sets.KeySet(p.now().own), sets.New[string]()
	for _, pod := range pods {
		if all.Has(pod.Spec.SchedulerName) {
			named.Insert(pod.Spec.SchedulerName)
		}
	}
	if len(named) == 0 {
		named = all
	}
	return name == slices.Min(named.UnsortedList())
}
