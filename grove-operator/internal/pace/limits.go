// Package pace keeps the operator's requests at its rate without a pass ever waiting for it. The pass of a controller begins
// only when the kinds of objects that it writes have something left of their rate, and then it makes its requests at once;
// what it spends too much, those that begin after it wait for. Waiting thus happens in a controller's queue, where the next
// change of an object joins the one that waits, and where sets take turns.
package pace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Limits keep one rate for each kind of object, and one bound on the passes of all controllers together: they share one API
// server, and many that ask it at once are answered no sooner than few, each of them later.
type Limits struct {
	qps, burst float64
	passes     int
	clock      clock.WithTicker

	mu      sync.Mutex
	buckets map[schema.GroupKind]*bucket
	// under is how many passes are under way.
	under int
	// ended is closed, and replaced, when a pass ends and may leave something over.
	ended chan struct{}
}

// New returns limits of qps requests a second, and burst at once, for each kind, and of so many passes at a time.
func New(qps float32, burst int32, passes int) *Limits {
	return newLimits(qps, burst, passes, clock.RealClock{})
}

func newLimits(qps float32, burst int32, passes int, now clock.WithTicker) *Limits {
	return &Limits{
		qps: float64(qps), burst: float64(burst), passes: passes, clock: now,
		buckets: map[schema.GroupKind]*bucket{}, ended: make(chan struct{}),
	}
}

// Spend counts a request.
func (l *Limits) Spend(kind schema.GroupKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(kind).spend(l.clock.Now())
}

// of is the bucket of a kind.
func (l *Limits) of(kind schema.GroupKind) *bucket {
	found, ok := l.buckets[kind]
	if !ok {
		found = &bucket{rate: l.qps, most: l.burst, tokens: l.burst, at: l.clock.Now()}
		l.buckets[kind] = found
	}
	return found
}

// begin waits until a pass that writes these kinds may begin, and notes it as begun; after stop it may at once.
func (l *Limits) begin(kinds []schema.GroupKind, stop <-chan struct{}) {
	for {
		wait, ended := l.tryBegin(kinds)
		if wait <= 0 {
			return
		}
		timer := l.clock.NewTimer(wait)
		select {
		case <-timer.C():
		case <-ended:
		case <-stop:
			timer.Stop()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.count(kinds, 1)
			return
		}
		timer.Stop()
	}
}

// tryBegin notes a pass as begun if it may begin. If it may not it returns how long to wait, and what is closed when it is
// worth another try before.
func (l *Limits) tryBegin(kinds []schema.GroupKind) (time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wait time.Duration
	if l.under >= l.passes {
		wait = untilAnotherEnds
	}
	for _, kind := range kinds {
		wait = max(wait, l.of(kind).wait(l.clock.Now()))
	}
	if wait > 0 {
		return wait, l.ended
	}
	l.count(kinds, 1)
	return 0, nil
}

// untilAnotherEnds is the wait of a pass that only the end of another can let begin. It is long, as that is told.
const untilAnotherEnds = time.Hour

func (l *Limits) count(kinds []schema.GroupKind, passes int) {
	l.under += passes
	for _, kind := range kinds {
		l.of(kind).begun += passes
	}
}

// end notes that a pass has ended.
func (l *Limits) end(kinds []schema.GroupKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(kinds, -1)
	close(l.ended)
	l.ended = make(chan struct{})
}
