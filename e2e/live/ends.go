package live

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"packtree.dev/e2e/devcluster"
)

// hopeless is the pause before a component's next start from which on waiting for it is in vain: it has ended again and
// again.
const hopeless = 30 * time.Second

// ends are the programs of a cluster that have ended by themselves.
type ends struct {
	mu  sync.Mutex
	all []devcluster.End
	// cause says why the cluster cannot work any more, and waiting are the contexts to cancel then.
	cause   error
	waiting []context.CancelCauseFunc
}

// add records an end. If waiting is in vain after it, all waits end at once.
func (e *ends) add(end devcluster.End) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, end)
	if e.cause != nil || end.Again != 0 && end.Again < hopeless {
		return
	}
	e.cause = fmt.Errorf("a program of the dev cluster has ended: %s", end)
	for _, cancel := range e.waiting {
		cancel(e.cause)
	}
}

func (e *ends) while(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause != nil {
		cancel(e.cause)
	}
	e.waiting = append(e.waiting, cancel)
	return ctx
}

// supervise restarts components that end by themselves, until TakeDown, and reports that on standard error.
func (o *Own) supervise() {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		// An end of the control plane was reported as an end.
		_ = o.Machine.Supervise(ctx, func(end devcluster.End) {
			fmt.Fprintln(os.Stderr, end)
			o.ends.add(end)
		})
	})
	o.unsupervise = func() { stop(); running.Wait() }
}

// While is a context that ends with ctx, and when a program has ended without which the cluster does not work. Its
// cause names the program, and how it ended. It lives as long as ctx or the cluster.
func (o *Own) While(ctx context.Context) context.Context {
	return o.ends.while(ctx)
}

// Ends are the programs that have ended by themselves so far, for the report of a failure; empty if none has.
func (o *Own) Ends() string {
	o.ends.mu.Lock()
	defer o.ends.mu.Unlock()
	var lines []string
	for _, end := range o.ends.all {
		lines = append(lines, end.String())
	}
	return strings.Join(lines, "\n")
}
