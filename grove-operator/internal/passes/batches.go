package passes

import (
	"errors"
	"sync"
)

// most is how many requests of one pass are in flight at once.
const most = 16

// SlowStart calls do for 0..count-1 in batches of 1, 2, 4, …, and stops after a batch with errors: a request that the
// API server refuses once would otherwise be refused a thousand times.
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

// Each calls do for 0..count-1, several at once, and returns all errors in the order of the calls.
func Each(count int, do func(i int) error) error {
	errs := make([]error, count)
	free := make(chan struct{}, most)
	var group sync.WaitGroup
	for i := range count {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			errs[i] = do(i)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
