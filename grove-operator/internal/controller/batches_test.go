package controller_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/grove-operator/internal/passes"
)

func TestEachCallsAllAndBoundsHowManyAtOnce(t *testing.T) {
	const count = 100
	var now, peak atomic.Int32
	var calls [count]atomic.Int32
	var full sync.WaitGroup
	full.Add(2) // Two calls must run at the same time, or this never ends.
	err := passes.Each(count, func(i int) error {
		peak.Store(max(peak.Load(), now.Add(1)))
		defer now.Add(-1)
		if i < 2 {
			full.Done()
			full.Wait()
		}
		calls[i].Add(1)
		if i%50 == 7 {
			return fmt.Errorf("call %d", i)
		}
		return nil
	})
	require.EqualError(t, err, "call 7\ncall 57")
	assert.LessOrEqual(t, peak.Load(), int32(16))
	for i := range calls {
		assert.Equal(t, int32(1), calls[i].Load(), "call %d was made", i)
	}
}

func TestSlowStartStopsAfterTheBatchThatFails(t *testing.T) {
	for failing, want := range map[int]int32{-1: 100, 0: 1, 1: 3, 2: 3, 3: 7, 50: 63} {
		var calls atomic.Int32
		err := passes.SlowStart(100, func(i int) error {
			calls.Add(1)
			if i == failing {
				return errors.New("refused")
			}
			return nil
		})
		assert.Equal(t, want, calls.Load(), "call %d fails: %d calls, error %v", failing, calls.Load(), err)
		assert.Equal(t, failing >= 0, err != nil, "call %d fails: %d calls, error %v", failing, calls.Load(), err)
	}
}
