package live_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			err := live.Wait(ctx, "all pods run", test.look)
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
