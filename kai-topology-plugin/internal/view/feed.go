package view

import (
	"sync"
	"sync/atomic"
)

// Feed has the latest overview for everybody who looks. Watches of several kinds may report trouble at once.
type Feed struct {
	now atomic.Pointer[moment]
	// changing is held by whoever changes it.
	changing sync.Mutex
}

// moment is not changed any more.
type moment struct {
	overview []byte
	// revision counts the overviews.
	revision int
	trouble  string
	// over is closed when there is something else.
	over chan struct{}
}

// NewFeed returns a feed without an overview.
func NewFeed() *Feed {
	feed := &Feed{}
	feed.now.Store(&moment{over: make(chan struct{})})
	return feed
}

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
	f.changing.Lock()
	defer f.changing.Unlock()
	last := f.now.Load()
	next := *last
	change(&next)
	next.over = make(chan struct{})
	f.now.Store(&next)
	close(last.over)
}

func (f *Feed) latest() *moment { return f.now.Load() }
