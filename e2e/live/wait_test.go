package live_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"packtree.dev/e2e/live"
)

func TestWaitEndsWhenItHolds(t *testing.T) {
	looks := 0
	err := live.Wait(t.Context(), "the third look", func(context.Context) (bool, string, error) {
		looks++
		return looks == 3, "", nil
	})
	if err != nil || looks != 3 {
		t.Errorf("%d looks, error %v", looks, err)
	}
}

func TestWaitSaysWhatItSawLast(t *testing.T) {
	for name, test := range map[string]struct {
		look live.Look
		says string
	}{
		"a state": {
			func(context.Context) (bool, string, error) { return false, "2 of 3 pods", nil }, "2 of 3 pods",
		},
		"an error, for which it does not stop": {
			func(context.Context) (bool, string, error) { return true, "", errors.New("refused") }, "refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, expire := context.WithCancelCause(t.Context())
			defer expire(nil)
			looks := 0
			err := live.Wait(ctx, "all pods run", func(ctx context.Context) (bool, string, error) {
				if looks++; looks == 2 {
					expire(context.DeadlineExceeded)
				}
				return test.look(ctx)
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("error %v, want the context's", err)
			}
			if message := err.Error(); !strings.Contains(message, "all pods run") ||
				!strings.Contains(message, test.says) {
				t.Errorf("%q names neither what was waited for nor what was seen", message)
			}
		})
	}
}
