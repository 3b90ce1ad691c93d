package plugin

import (
	"sync"
	"time"
)

// alarms are moments at which a function runs, once each, however often that is asked for. The function may ask again;
// without alarms, every caller would then ask again at every moment to come.
type alarms struct {
	mu      sync.Mutex
	pending map[int64]bool // By the moment in units of grain.
}

// grain is by how much an alarm may be late.
const grain = 10 * time.Millisecond

// longest is after which an alarm goes off at the latest: a user may write of centuries, which are more nanoseconds
// than can be counted from 1970.
const longest = 24 * time.Hour

// after does something some time from now, at the latest after a day, unless that is to be done at the same moment
// already.
func (a *alarms) after(wait time.Duration, do func()) {
	now := time.Now()
	wait = min(wait, longest)
	moment := now.Add(wait).UnixNano()/int64(grain) + 1
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[moment] {
		return
	}
	if a.pending == nil {
		a.pending = map[int64]bool{}
	}
	a.pending[moment] = true
	time.AfterFunc(time.Unix(0, moment*int64(grain)).Sub(now), func() {
		a.mu.Lock()
		delete(a.pending, moment)
		a.mu.Unlock()
		do()
	})
}
