package devcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// End is the end of a program that was not asked to end.
type End struct {
	// Program is its name.
	Program string
	// How it ended, with the end of its log.
	How error
	// Again is the time until it is restarted; 0 if it is not, as for programs of the control plane.
	Again time.Duration
}

// String is a line, and the end of the log.
func (e End) String() string {
	if e.Again == 0 {
		return fmt.Sprintf("%s is not started again: %v", e.Program, e.How)
	}
	return fmt.Sprintf("%s is started again after %v: %v", e.Program, e.Again, e.How)
}

// A kubelet's pauses begin at 10 s and end at 5 min, which is too long here. Tests make them shorter.
var firstPause, longestPause = time.Second, time.Minute

// recovered is how long a component has to run so that its next end counts as the first one.
const recovered = 2 * time.Minute

// pauseAfter is the time until the restart of a component that has ended so many times in a row.
func pauseAfter(ends int) time.Duration {
	pause := firstPause
	for ; ends > 1 && pause < longestPause; ends-- {
		pause *= 2
	}
	return min(pause, longestPause)
}

// Supervise reports each program that ends by itself. A component is restarted after a pause, which doubles with each
// end in a row, as its kubelet would do. It returns nil when the context ends, and an error when the control plane is
// gone.
func (c *Cluster) Supervise(ctx context.Context, report func(End)) error {
	var restarts sync.WaitGroup
	defer restarts.Wait()
	rows := map[string]int{}
	for {
		var ended *processes.Process
		select {
		case <-ctx.Done():
			return nil
		case ended = <-c.plane.ended:
		}
		if ended.Asked() {
			continue
		}
		if down := c.takenDown(ctx); down != nil {
			return down
		}
		end := End{Program: ended.Spec.Name, How: ended.Failure()}
		if _, about := c.plane.process(end.Program); about.Component {
			if ended.Ran >= recovered {
				rows[end.Program] = 0
			}
			rows[end.Program]++
			end.Again = pauseAfter(rows[end.Program])
			restarts.Go(func() { c.startAgain(ctx, ended, end.Again) })
		}
		report(end)
		if !c.controlled() {
			return errors.New("no program of the control plane is left")
		}
	}
}

// takenDown returns an error if Down was called, after waiting until it is done.
func (c *Cluster) takenDown(ctx context.Context) error {
	dir, err := c.claimAgain(ctx)
	if err != nil {
		return err
	}
	dir.Release()
	return nil
}

// controlled reports whether a program of the control plane runs.
func (c *Cluster) controlled() bool {
	c.plane.mu.Lock()
	defer c.plane.mu.Unlock()
	return slices.ContainsFunc(c.plane.running, func(process *processes.Process) bool {
		return process.Runs() && slices.ContainsFunc(c.plane.state.Processes, func(about statedir.Process) bool {
			return about.Name == process.Spec.Name && !about.Component
		})
	})
}

// startAgain starts a component after a pause, unless it was started or asked to end meanwhile, or the cluster is gone.
// It does not wait until the component works: if it ends again, that is reported like any other end.
func (c *Cluster) startAgain(ctx context.Context, ended *processes.Process, pause time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(pause):
	}
	dir, err := c.claimAgain(ctx)
	if err != nil {
		return
	}
	defer dir.Release()
	name := ended.Spec.Name
	last, about := c.plane.process(name)
	if last != ended || ended.Asked() {
		return
	}
	c.plane.dir = dir
	c.plane.forget(name)
	if _, err := c.plane.keep(ended.Spec, about); err != nil {
		c.plane.say("starting %s again: %v", name, err)
	}
}
