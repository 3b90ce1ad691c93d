package plugin

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAnAlarmThatIsCenturiesAwayIsADayAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all alarms
		done := 0
		all.after(2_300_000*time.Hour, func() { done++ })
		time.Sleep(23 * time.Hour)
		assert.Zero(t, done, "it has gone off before")
		time.Sleep(2 * time.Hour)
		assert.Equal(t, 1, done, "it went off %d times", done)
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
			assert.GreaterOrEqual(t, time.Since(begin), time.Second)
			if done.Load() < 3 {
				all.after(time.Second, again)
			}
		}
		for range 1000 {
			all.after(time.Second, again)
		}
		time.Sleep(10 * time.Second)
		got := done.Load()
		assert.EqualValues(t, 3, got, "done %d times", got)
		assert.Empty(t, all.pending, "%d are remembered", len(all.pending))
		early, late := false, false
		all.after(2*time.Second, func() { late = true })
		all.after(time.Second, func() { early = true })
		time.Sleep(1500 * time.Millisecond)
		assert.True(t, early, "after a second and a half: early %t, late %t", early, late)
		assert.False(t, late, "after a second and a half: early %t, late %t", early, late)
		time.Sleep(time.Second)
		assert.True(t, late, "the later one did not go off")
	})
}
