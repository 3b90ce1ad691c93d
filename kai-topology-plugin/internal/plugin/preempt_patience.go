package plugin

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// patience remembers since when gangs have waited for room to become free by itself.
type patience struct {
	clock clock.WithDelayedExecution
	mu    sync.Mutex
	waits map[gang.Key]*waitForDelay
}

type waitForDelay struct {
	podGroup types.UID
	since    time.Time
	// timer wakes the gang when it has waited long enough; nil if it need not wait.
	timer clock.Timer
	delay time.Duration
}

func newPatience(clock clock.WithDelayedExecution) *patience {
	return &patience{clock: clock, waits: map[gang.Key]*waitForDelay{}}
}

// over reports whether a gang that does not fit has waited for its preemptionDelay since this was first asked. If not, it is
// woken when it has. A restart begins the wait anew.
func (p *patience) over(podGroup *scheduling.PodGroup, wake func()) bool {
	delay := podGroup.Spec.PreemptionDelay
	if delay == nil || delay.Duration <= 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := keyOfPodGroup(podGroup)
	known := p.waits[key]
	if known == nil || known.podGroup != podGroup.UID {
		known.stop()
		known = &waitForDelay{podGroup: podGroup.UID, since: p.clock.Now()}
		p.waits[key] = known
	}
	rest := delay.Duration - p.clock.Since(known.since)
	if rest <= 0 {
		known.stop()
		return true
	}
	if known.timer == nil || known.delay != delay.Duration {
		known.stop()
		known.delay = delay.Duration
		known.timer = p.clock.AfterFunc(rest, wake)
	}
	return false
}

// forget ends the wait of a gang that has been placed, or is no more.
func (p *patience) forget(key gang.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits[key].stop()
	delete(p.waits, key)
}

func (w *waitForDelay) stop() {
	if w != nil && w.timer != nil {
		w.timer.Stop()
	}
}
