package plugin

import (
	"sync"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// begunGangs are the gangs of which some pods stand, but not all that they need. The queue asks for them far more often than
// they change.
type begunGangs struct {
	mu    sync.RWMutex
	gangs map[gang.Key]bool
}

func newBegunGangs() *begunGangs {
	return &begunGangs{gangs: map[gang.Key]bool{}}
}

func (b *begunGangs) has(key gang.Key) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.gangs[key]
}

func (b *begunGangs) set(key gang.Key, begun bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if begun {
		b.gangs[key] = true
	} else {
		delete(b.gangs, key)
	}
}

// markBegun looks anew whether a gang is begun. A gang without a valid PodGroup is not.
func (p *Plugin) markBegun(key gang.Key) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		p.begun.set(key, false)
		return
	}
	tree, _ := p.outlines.of(podGroup, p.levels)
	p.begun.set(key, tree != nil && p.roster.Begun(key, tree))
}
