package browser

import (
	"slices"
	"sync"
)

// recorder records a page's events while the test does other things.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, what)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}
