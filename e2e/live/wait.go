package live

import (
	"context"
	"fmt"
	"time"
)

// The time between two looks of Wait grows: a long wait needs few looks, and each look costs the API server a list.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 800 * time.Millisecond
)

// Look looks once: it reports whether the awaited state holds, and if not, describes the present state in a few words.
type Look func(ctx context.Context) (done bool, state string, err error)

// Wait looks until the state holds or the context ends. The error says what was awaited and the state at the end.
func Wait(ctx context.Context, what string, look Look) error {
	state := "never looked"
	for pause := firstPause; ; pause = min(pause*5/4, lastPause) {
		done, seen, err := look(ctx)
		if done && err == nil {
			return nil
		}
		if ctx.Err() == nil {
			state = seen
			if err != nil {
				state = err.Error()
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w; last seen: %s", what, context.Cause(ctx), state)
		case <-time.After(pause):
		}
	}
}
