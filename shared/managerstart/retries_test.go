package managerstart_test

import (
	"testing"
	"time"

	"packtree.dev/shared/managerstart"
)

func TestWhatFailsIsTriedAgainWithinAMinute(t *testing.T) {
	retries := managerstart.Options[string](1).RateLimiter
	first, last := retries.When("set"), time.Duration(0)
	for range 50 {
		now := retries.When("set")
		if now < last {
			t.Fatalf("after %v it is tried again sooner, in %v", last, now)
		}
		last = now
	}
	if first > 10*time.Millisecond || last != time.Minute {
		t.Errorf("tried again first in %v, and at last in %v; want at once, and within a minute", first, last)
	}
	retries.Forget("set")
	if again := retries.When("set"); again != first {
		t.Errorf("after a success it begins at %v, want %v", again, first)
	}
}

// An API server that is away for some time fails the passes of thousands of objects.
func TestEachObjectWaitsForItself(t *testing.T) {
	retries := managerstart.Options[int](1).RateLimiter
	for object := range 5000 {
		if delay := retries.When(object); delay > 10*time.Millisecond {
			t.Fatalf("the first failure of object %d is tried again after %s", object, delay)
		}
	}
}
