// Package batches does many requests at the same time, with a bound.
package batches

import (
	"errors"
	"sync"
	"sync/atomic"

	"packtree.dev/grove-operator/internal/pace"
)

// most is how many requests of one pass are under way at the same time.
const most = 16

// SlowStart calls do for 0..count-1 in batches of 1, 2, 4, …, and stops after a batch with errors: what is refused once
// would be refused a thousand times.
func SlowStart(count int, do func(i int) error) error {
	for start, size := 0, 1; start < count; size = min(2*size, most) {
		end := min(start+size, count)
		if err := Each(end-start, func(i int) error { return do(start + i) }); err != nil {
			return err
		}
		start = end
	}
	return nil
}

// Each calls do for 0..count-1, whatever the others return, and returns all errors in the order of the calls. Only when the
// pass has spent its share it leaves out the rest, which the next pass finds.
func Each(count int, do func(i int) error) error {
	errs := make([]error, count)
	free := make(chan struct{}, most)
	var group sync.WaitGroup
	var spent atomic.Bool
	for i := 0; i < count && !spent.Load(); i++ {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			errs[i] = do(i)
			if errors.Is(errs[i], pace.ErrShareSpent) {
				spent.Store(true)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
