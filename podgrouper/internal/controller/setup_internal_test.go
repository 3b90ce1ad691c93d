package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// An API server that is away for some time fails the passes of thousands of pods.
func TestEachPodWaitsForItselfAndNotForLong(t *testing.T) {
	limiter := options(nil).RateLimiter
	pod := func(i int) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: fmt.Sprint("pod-", i)}}
	}
	for i := range 5000 {
		if delay := limiter.When(pod(i)); delay > shortest {
			t.Fatalf("the first failure of pod %d is tried again after %s", i, delay)
		}
	}
	var delay time.Duration
	for range 30 {
		delay = limiter.When(pod(0))
	}
	if delay != longest {
		t.Errorf("after 30 failures it is tried again after %s, want %s", delay, longest)
	}
}
