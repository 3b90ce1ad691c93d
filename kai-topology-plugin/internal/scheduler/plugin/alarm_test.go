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
		var all alarm
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
		var all alarm
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
		begin = time.Now()
		var moments []time.Duration
		for _, wait := range []time.Duration{2, 1, 3} {
			all.after(wait*time.Second, func() { moments = append(moments, time.Since(begin).Round(time.Second)) })
		}
		time.Sleep(10 * time.Second)
		assert.Equal(t, []time.Duration{time.Second}, moments, "the earliest one alone")
	})
}
