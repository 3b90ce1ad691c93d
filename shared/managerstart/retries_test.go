package managerstart_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/managerstart"
)

func TestWhatFailsIsTriedAgainWithinAMinute(t *testing.T) {
	retries := managerstart.Options[string](1).RateLimiter
	first, last := retries.When("set"), time.Duration(0)
	for range 50 {
		now := retries.When("set")
		require.GreaterOrEqual(t, now, last, "after %v it is tried again sooner, in %v", last, now)
		last = now
	}
	assert.LessOrEqual(t, first, 10*time.Millisecond)
	assert.Equal(t, time.Minute, last)
	retries.Forget("set")
	assert.Equal(t, first, retries.When("set"), "after a success it begins")
}

// An API server that is away for some time fails the passes of thousands of objects.
func TestEachObjectWaitsForItself(t *testing.T) {
	retries := managerstart.Options[int](1).RateLimiter
	for object := range 5000 {
		require.LessOrEqual(t, retries.When(object), 10*time.Millisecond,
			"the first failure of object %d is tried again", object)
	}
}
