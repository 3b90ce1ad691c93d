package processes

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// Terminate asks the processes to end and returns when they have, or after the grace period.
func Terminate(records []Record, grace time.Duration) {
	signal(records, syscall.SIGTERM)
	waitForEnd(records, grace)
}

// Kill ends the processes and all processes that they have started, and returns when they are gone.
func Kill(records []Record) error {
	signal(records, syscall.SIGKILL)
	const enough = 10 * time.Second
	var errs []error
	for _, record := range waitForEnd(records, enough) {
		errs = append(errs, fmt.Errorf("%s (process %d) does not end", record.Name, record.PID))
	}
	return errors.Join(errs...)
}

func signal(records []Record, signal syscall.Signal) {
	for _, record := range records {
		// Checked right before the signal: another process may have the number since.
		if record.Alive() {
			_ = syscall.Kill(-record.PID, signal)
		}
	}
}

// waitForEnd returns the processes that still run after the limit. Processes that are not children can only be polled.
func waitForEnd(records []Record, limit time.Duration) []Record {
	deadline := time.After(limit)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		records = slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return !r.Alive() })
		if len(records) == 0 {
			return nil
		}
		select {
		case <-deadline:
			return records
		case <-ticker.C:
		}
	}
}

// Kill ends a process that the caller has started with all its children, whether it is recorded or not.
func (p *Process) Kill() {
	p.asked.Store(true)
	if p.Runs() {
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	}
	<-p.ended
}

// Terminate asks a process that the caller has started to end.
func (p *Process) Terminate() {
	p.asked.Store(true)
	if p.Runs() {
		_ = syscall.Kill(-p.PID, syscall.SIGTERM)
	}
}
