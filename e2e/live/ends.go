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

// hopeless is the pause before a component's next start from which on nobody need wait for it: it has ended again and
// again.
const hopeless = 30 * time.Second

// ends are the programs of a cluster that have ended by themselves.
type ends struct {
	mu  sync.Mutex
	all []devcluster.End
	// cause is why nothing can come of the cluster any more, and waiting are those to tell.
	cause   error
	waiting []context.CancelCauseFunc
}

// add notes an end. Who waits is told at once of one after which there is nothing to wait for.
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

// supervise starts components that end by themselves again, until TakeDown, and says so on standard error.
func (o *Own) supervise() {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		// That the control plane is gone is an end that was reported.
		_ = o.Machine.Supervise(ctx, func(end devcluster.End) {
			fmt.Fprintln(os.Stderr, end)
			o.ends.add(end)
		})
	})
	o.unsupervise = func() { stop(); running.Wait() }
}

// While is a context that ends with ctx, and when a program has ended without which the cluster does not work. Its
// cause says which, and how. It lives as long as ctx or the cluster.
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
