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

// End is the end of a program that nobody asked to end.
type End struct {
	// Program is its name.
	Program string
	// How says how it ended, with the end of its log.
	How error
	// Again is after what time it is started again; 0 if it is not, as no program of the control plane is.
	Again time.Duration
}

// String is a line, and the end of the log.
func (e End) String() string {
	if e.Again == 0 {
		return fmt.Sprintf("%s is not started again: %v", e.Program, e.How)
	}
	return fmt.Sprintf("%s is started again after %v: %v", e.Program, e.Again, e.How)
}

// The pauses of a kubelet begin at 10 s and end at 5 min. Nobody waits for that here.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	// recovered is how long a component has to run for its next end to be the first of a row.
	recovered = 2 * time.Minute
)

// pauseAfter is the time until a component is started again that has ended so many times in a row.
func pauseAfter(ends int) time.Duration {
	pause := firstPause
	for ; ends > 1 && pause < longestPause; ends-- {
		pause *= 2
	}
	return min(pause, longestPause)
}

// Supervise reports each program that ends by itself. A component is started again after a pause, which doubles with
// each end in a row, as its kubelet would. It returns nil when the context ends, and an error when the control plane
// is gone.
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
			if ended.Ran() >= recovered {
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

// takenDown returns an error when somebody has called Down, after waiting until that is done.
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
		select {
		case <-process.Ended():
			return false
		default:
			return slices.ContainsFunc(c.plane.state.Processes, func(about statedir.Process) bool {
				return about.Name == process.Spec.Name && !about.Component
			})
		}
	})
}

// startAgain starts a component after a pause, unless somebody has started it or asked it to end meanwhile, or the
// cluster is gone. It does not wait until the component works: if it ends, that is an end like any other.
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
