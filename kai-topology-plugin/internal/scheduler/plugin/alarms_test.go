package plugin

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAlarmThatIsCenturiesAwayIsADayAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all alarms
		done := 0
		all.after(2_300_000*time.Hour, func() { done++ })
		time.Sleep(23 * time.Hour)
		if done > 0 {
			t.Error("it has gone off before")
		}
		time.Sleep(2 * time.Hour)
		if done != 1 {
			t.Errorf("it went off %d times", done)
		}
	})
}

// A thousand gangs that each cause the others to be looked at again do not do so a thousand times at each moment.
func TestAnAlarmGoesOffOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all alarms
		var done atomic.Int32
		begin := time.Now()
		var again func()
		again = func() {
			done.Add(1)
			if since := time.Since(begin); since < time.Second {
				t.Errorf("after %s", since)
			}
			if done.Load() < 3 {
				all.after(time.Second, again)
			}
		}
		for range 1000 {
			all.after(time.Second, again)
		}
		time.Sleep(10 * time.Second)
		if got := done.Load(); got != 3 {
			t.Errorf("done %d times", got)
		}
		if len(all.pending) > 0 {
			t.Errorf("%d are remembered", len(all.pending))
		}
		early, late := false, false
		all.after(2*time.Second, func() { late = true })
		all.after(time.Second, func() { early = true })
		time.Sleep(1500 * time.Millisecond)
		if !early || late {
			t.Errorf("after a second and a half: early %t, late %t", early, late)
		}
		time.Sleep(time.Second)
		if !late {
			t.Error("the later one did not go off")
		}
	})
}
