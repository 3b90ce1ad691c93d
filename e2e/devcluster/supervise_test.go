package devcluster

import (
	"testing"
	"time"
)

func init() { firstPause, longestPause = 100*time.Millisecond, 6*time.Second }

func TestThePauseDoublesUpToItsLimit(t *testing.T) {
	for ends, want := range map[int]time.Duration{
		1: firstPause, 2: 2 * firstPause, 3: 4 * firstPause, 6: 32 * firstPause, 7: longestPause, 1000: longestPause,
	} {
		if got := pauseAfter(ends); got != want {
			t.Errorf("after %d ends in a row: %v, want %v", ends, got, want)
		}
	}
}
