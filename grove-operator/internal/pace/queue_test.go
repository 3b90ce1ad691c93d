package pace

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

func queueOf(limits *Limits) priorityqueue.PriorityQueue[string] {
	retries := workqueue.DefaultTypedControllerRateLimiter[string]()
	return Queue[string](limits, pod)("controller", retries).(priorityqueue.PriorityQueue[string])
}

func TestQueueHandsOutWhatMayBegin(t *testing.T) {
	now := clocktesting.NewFakeClock(start)
	limits := newLimits(10, 5, 2, now)
	queue := queueOf(limits)
	defer queue.ShutDown()
	for range 15 {
		limits.Spend(pod)
	}
	queue.Add("a")
	got := make(chan string)
	go func() {
		item, _, _ := queue.GetWithPriority()
		got <- item
	}()
	waitFor(t, "the item waits for the rate", now.HasWaiters)
	now.Step(1099 * 1e6)
	select {
	case <-got:
		t.Fatal("the item was handed out while something was owed")
	default:
	}
	now.Step(2 * 1e6)
	if item := <-got; item != "a" {
		t.Errorf("got %q", item)
	}
	if begun := limits.of(pod).begun; begun != 1 {
		t.Errorf("%d passes are under way, want 1", begun)
	}
	queue.Done("a")
	if begun := limits.of(pod).begun; begun != 0 {
		t.Errorf("%d passes are under way after the end, want none", begun)
	}
}

func TestQueueThatIsShutDownWaitsForNoRate(t *testing.T) {
	now := clocktesting.NewFakeClock(start)
	limits := newLimits(1, 1, 1, now)
	for range 1000 {
		limits.Spend(pod)
	}
	queue := queueOf(limits)
	queue.Add("a")
	ended := make(chan struct{})
	go func() {
		item, _ := queue.Get()
		queue.Done(item)
		close(ended)
	}()
	waitFor(t, "the item waits for the rate", now.HasWaiters)
	queue.ShutDown()
	<-ended
	if _, shutdown := queue.Get(); !shutdown {
		t.Error("the queue goes on after its end")
	}
	if begun := limits.of(pod).begun; begun != 0 {
		t.Errorf("%d passes are under way after the end, want none", begun)
	}
}
