package live

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"packtree.dev/e2e/devcluster"
)

// forTests are the clusters that this process has brought up for its tests.
var forTests struct {
	listens sync.Once
	// starting is held while a cluster is brought up.
	starting sync.RWMutex
	mu       sync.Mutex
	all      []*Own
}

// BringUpForTests is BringUp for a test binary, which an interrupt would end at once: before it ends, its clusters are
// taken down.
func BringUpForTests(ctx context.Context, options devcluster.Options) (*Own, error) {
	forTests.listens.Do(func() { go endOnSignal() })
	forTests.starting.RLock()
	defer forTests.starting.RUnlock()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	own, err := BringUp(ctx, options)
	if err == nil {
		forTests.mu.Lock()
		forTests.all = append(forTests.all, own)
		forTests.mu.Unlock()
	}
	return own, err
}

// interrupted is the exit code of a program that an interrupt has ended, as shells give it.
const interrupted = 130

// endOnSignal ends the process once a signal says so. A second signal ends it at once.
func endOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	fmt.Fprintf(os.Stderr, "%s: taking the dev cluster down\n", <-signals)
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	forTests.starting.Lock()
	for _, own := range forTests.all {
		if err := own.TakeDown(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(interrupted)
}
