package view

import (
	"sync"
	"sync/atomic"
)

// Feed has the latest overview for all viewers. Watches of several kinds may report trouble at once.
type Feed struct {
	now atomic.Pointer[moment]
	// changing is held during a change, and making while an overview is made: one after the other, so that only the
	// latest is made for waiting viewers.
	changing, making sync.Mutex
}

// moment is not changed any more.
type moment struct {
	// overview makes the overview for the first viewer; nil if there is none.
	overview Overview
	// revision counts the overviews.
	revision int
	trouble  string
	// over is closed when there is something else.
	over chan struct{}
}

// Overview makes an overview, as JSON.
type Overview func() ([]byte, error)

// NewFeed returns a feed without an overview.
func NewFeed() *Feed {
	feed := &Feed{}
	feed.now.Store(&moment{over: make(chan struct{})})
	return feed
}

// Publish shows an overview to all viewers; it is made once the first of them looks. Reported trouble is over.
func (f *Feed) Publish(overview Overview) {
	f.change(func(now *moment) {
		now.overview, now.trouble = sync.OnceValues(overview), ""
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

// read returns the latest overview; nil if there is none.
func (f *Feed) read() ([]byte, error) {
	f.making.Lock()
	defer f.making.Unlock()
	overview := f.latest().overview
	if overview == nil {
		return nil, nil
	}
	content, err := overview()
	if err != nil {
		f.Trouble(err.Error())
	}
	return content, err
}
