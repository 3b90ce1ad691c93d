package plugin

import "sync"

// profiles are the names of the profiles of this process that have the plugin, each in an instance of its own. Pods that name
// one of them are placed here; those of other schedulers are not waited for.
type profiles struct {
	mu    sync.RWMutex
	names map[string]bool
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
