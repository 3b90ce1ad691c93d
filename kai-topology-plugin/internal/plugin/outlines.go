package plugin

import (
	"sync"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// outlines are what PodGroups say of their gangs, read once for each version of a PodGroup and of the Topologies: every pod of
// a gang asks for it several times.
type outlines struct {
	mu sync.Mutex
	// topologies counts the changes of Topologies.
	topologies int
	gangs      map[gang.Key]outline
}

// outline is a PodGroup as it was read.
type outline struct {
	podGroup   *scheduling.PodGroup
	topologies int
	// tree is nil if the PodGroup is invalid; hold says what keeps the gang from being planned whatever pods it has.
	tree *podgrouptree.Tree
	hold *gang.Hold
}

func newOutlines() *outlines {
	return &outlines{gangs: map[gang.Key]outline{}}
}

// of returns the outline of a PodGroup.
func (o *outlines) of(podGroup *scheduling.PodGroup, levels podgrouptree.Levels) (*podgrouptree.Tree, *gang.Hold) {
	key := keyOfPodGroup(podGroup)
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.gangs[key]
	if known.podGroup != podGroup || known.topologies != o.topologies {
		known = outline{podGroup: podGroup, topologies: o.topologies}
		known.tree, known.hold = gang.Read(podGroup, levels)
		o.gangs[key] = known
	}
	return known.tree, known.hold
}

// topologiesChanged has every PodGroup read anew.
func (o *outlines) topologiesChanged() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.topologies++
}

// version counts the changes of Topologies so far.
func (o *outlines) version() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.topologies
}

func (o *outlines) forget(key gang.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.gangs, key)
}
