package view

import "sync"

// Feed has the latest overview for everybody who looks.
type Feed struct {
	mu   sync.Mutex
	now  moment
	next chan struct{}
}

type moment struct {
	overview []byte
	// revision counts the overviews.
	revision int
	trouble  string
}

// NewFeed returns a feed without an overview.
func NewFeed() *Feed { return &Feed{next: make(chan struct{})} }

// Publish has everybody see an overview, as JSON. What was in its way is over.
func (f *Feed) Publish(overview []byte) {
	f.change(func(now *moment) {
		now.overview, now.trouble = overview, ""
		now.revision++
	})
}

// Trouble has everybody know why the overview is not renewed.
func (f *Feed) Trouble(text string) {
	f.change(func(now *moment) { now.trouble = text })
}

func (f *Feed) change(change func(*moment)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.now)
	close(f.next)
	f.next = make(chan struct{})
}

// latest returns what there is, and a channel that is closed when there is something else.
func (f *Feed) latest() (moment, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.next
}
