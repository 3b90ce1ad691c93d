package pace

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
)

var (
	pod   = schema.GroupKind{Kind: "Pod"}
	event = schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func TestWhenAPassMayBegin(t *testing.T) {
	for name, c := range map[string]struct {
		spent, begun int
		rest, later  time.Duration
		want         time.Duration
	}{
		"at rest":                                         {},
		"as many passes as there are tokens":              {begun: 4},
		"with one token left":                             {spent: 4},
		"with no token left":                              {spent: 5, want: 100 * time.Millisecond},
		"with a debt":                                     {spent: 25, want: 2100 * time.Millisecond},
		"when a debt is nearly paid":                      {spent: 25, later: 2 * time.Second, want: 100 * time.Millisecond},
		"when a debt is paid":                             {spent: 25, later: 2100 * time.Millisecond},
		"the token of a pass under way is not another's":  {spent: 4, begun: 1, want: 100 * time.Millisecond},
		"after a long rest there is a burst and no more":  {rest: time.Hour, spent: 5, want: 100 * time.Millisecond},
		"many under way hold up nobody that owes nothing": {begun: 100},
	} {
		t.Run(name, func(t *testing.T) {
			b := bucket{rate: 10, most: 5, tokens: 5, at: start, begun: c.begun}
			for range c.spent {
				b.spend(start.Add(c.rest))
			}
			got := b.wait(start.Add(c.rest + c.later))
			if diff := got - c.want; diff < -time.Microsecond || diff > time.Microsecond {
				t.Errorf("it waits %v, want %v", got, c.want)
			}
		})
	}
}

// TestRateIsKept has passes of any size begin when they may. In whatever time there are no more requests than the rate and the
// burst allow, but for those of the passes that were under way together.
func TestRateIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const qps, burst, workers, most = 10, 5, 3, 8
		now := clocktesting.NewFakeClock(start)
		limits := newLimits(qps, burst, workers, now)
		var under []int // How many requests each pass under way has still to make.
		made := 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				if wait, _ := limits.tryBegin([]schema.GroupKind{pod, event}); wait == 0 {
					under = append(under, rapid.IntRange(0, most).Draw(t, "requests"))
				}
				if len(under) > workers {
					t.Fatalf("%d passes are under way", len(under))
				}
			case 1:
				if len(under) > 0 {
					for range under[0] {
						limits.Spend(pod)
						made++
					}
					limits.end([]schema.GroupKind{pod, event})
					under = under[1:]
				}
			case 2:
				now.Step(time.Duration(rapid.IntRange(1, 500).Draw(t, "milliseconds")) * time.Millisecond)
			}
			if bound := burst + qps*now.Since(start).Seconds() + workers*(most-1); float64(made) > bound+1e-6 {
				t.Fatalf("%d requests after %v, more than %.1f", made, now.Since(start), bound)
			}
		}
	})
}

func TestTheEndOfAPassLetsAnotherBegin(t *testing.T) {
	for name, c := range map[string]struct {
		burst int32
		bound int
		spent int
	}{
		"that left its token":                 {burst: 2, bound: 9, spent: 1},
		"where no more may be under way":      {burst: 9, bound: 1},
		"where both hold it up, in whichever": {burst: 2, bound: 1, spent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(start) // It stands still: nothing but the end of a pass can let another begin.
			limits := newLimits(1, c.burst, c.bound, now)
			for range c.spent {
				limits.Spend(pod)
			}
			kinds := []schema.GroupKind{pod}
			limits.begin(kinds, nil)
			began := make(chan struct{})
			go func() {
				limits.begin([]schema.GroupKind{pod, event}, nil)
				close(began)
			}()
			waitFor(t, "the second pass waits", now.HasWaiters)
			select {
			case <-began:
				t.Fatal("two passes are under way")
			default:
			}
			limits.end(kinds)
			<-began
		})
	}
}

func TestStopEndsAWait(t *testing.T) {
	limits := newLimits(1, 1, 1, clocktesting.NewFakeClock(start))
	limits.Spend(pod)
	stop := make(chan struct{})
	close(stop)
	limits.begin([]schema.GroupKind{pod}, stop)
	if begun := limits.of(pod).begun; begun != 1 {
		t.Errorf("%d passes are under way, want the one that waits no longer", begun)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in a minute it did not come to this: %s", what)
		}
	}
}
