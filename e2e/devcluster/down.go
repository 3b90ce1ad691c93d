package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"packtree.dev/e2e/devcluster/internal/processes"
	"packtree.dev/e2e/devcluster/internal/statedir"
)

// grace is the time in which components may end by themselves. The control plane has none: its data is deleted anyway.
const grace = 2 * time.Second

// Down ends every process of the cluster in the state directory and removes the directory, also after a crash. A start
// in progress is cancelled. It returns false if there was nothing.
func Down(ctx context.Context, directory string) (bool, error) {
	if directory == "" {
		directory = DefaultDir
	}
	dir, err := seize(ctx, directory)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	records, err := statedir.Records(dir.Path())
	if err != nil {
		dir.Release()
		return false, err
	}
	processes.Terminate(componentsOf(dir.Path(), records), grace)
	if err := processes.Kill(records); err != nil {
		dir.Release()
		return false, err
	}
	return true, dir.Remove()
}

// seize waits for the lock, after a signal to a process that is starting a cluster to give up.
func seize(ctx context.Context, directory string) (*statedir.Dir, error) {
	const limit = 30 * time.Second
	deadline := time.After(limit)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	signalled := false
	for {
		dir, err := statedir.Existing(directory)
		if !errors.Is(err, statedir.ErrBusy) {
			return dir, err
		}
		state, err := statedir.Load(directory)
		if err == nil && !signalled && !state.Ready && state.Owner.PID != os.Getpid() && state.Owner.Alive() {
			_ = syscall.Kill(state.Owner.PID, syscall.SIGTERM)
			signalled = true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-deadline:
			return nil, fmt.Errorf("process %d still brings a dev cluster up or down in %s: end it first",
				state.Owner.PID, directory)
		}
	}
}

func componentsOf(directory string, records []processes.Record) []processes.Record {
	// Without a state the processes are killed only.
	state, _ := statedir.Load(directory)
	ours := map[string]bool{}
	for _, process := range state.Processes {
		ours[process.Name] = process.Component
	}
	var components []processes.Record
	for _, record := range records {
		if ours[record.Name] {
			components = append(components, record)
		}
	}
	return components
}

// Down ends the cluster as the package's Down does, and returns when all programs have been waited for: only then does
// their CPU time count as the calling process's.
func (c *Cluster) Down(ctx context.Context) error {
	if _, err := Down(ctx, c.Dir); err != nil {
		return err
	}
	c.plane.mu.Lock()
	defer c.plane.mu.Unlock()
	for _, process := range c.plane.running {
		select {
		case <-process.Ended():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
