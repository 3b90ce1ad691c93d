package devcluster

import (
	"testing"
	"time"
)

func TestThePauseDoublesUpToItsLimit(t *testing.T) {
	for ends, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute,
	} {
		if got := pauseAfter(ends); got != want {
			t.Errorf("after %d ends in a row: %v, want %v", ends, got, want)
		}
	}
}
