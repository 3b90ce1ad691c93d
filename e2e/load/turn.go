package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var errEnded = errors.New("the scheduler ended")

// turn is the time in which one of the schedulers runs.
type turn struct {
	*bench
	scheduler
	tenure *tenure
	pid    int
	ended  <-chan struct{}
	// began is when it got its lease.
	began time.Time
}

// start has a scheduler take over. What it finds it has read before the clock starts, as kube-scheduler reads everything before it
// asks for its lease.
func (b *bench) start(ctx context.Context, s scheduler) (*turn, error) {
	tenure, err := b.watchLease(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := b.cluster.Start(ctx, s.program); err != nil {
		return nil, err
	}
	t := &turn{bench: b, scheduler: s, tenure: tenure, pid: b.cluster.PID(s.program), ended: b.cluster.Ended(s.program)}
	select {
	case t.began = <-tenure.began:
		return t, nil
	case <-t.ended:
		return nil, fmt.Errorf("waiting until %s holds its lease: it ended, see its log", s.program)
	case <-time.After(b.Patience):
		return nil, fmt.Errorf("waiting until %s holds its lease: it has none after %s", s.program, b.Patience)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// end stops the scheduler, whatever came before.
func (t *turn) end(err error) error {
	t.tenure.watch.Stop()
	stopping, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if left := t.cluster.Stop(stopping, t.program); left != nil {
		return errors.Join(err, t.cluster.Kill(t.program))
	}
	return err
}

// explain adds what the scheduler said last to an error.
func (t *turn) explain(err error) error {
	content, unread := os.ReadFile(filepath.Join(t.cluster.Dir, "logs", t.program+".log"))
	if unread != nil {
		return errors.Join(err, unread)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	const last = 20
	return fmt.Errorf("%w, and said last:\n%s", err, strings.Join(lines[max(0, len(lines)-last):], "\n"))
}

// profile writes a CPU profile of the scheduler of the next seconds, and tells when it is done.
func (t *turn) profile(ctx context.Context, of string, seconds int) <-chan error {
	done := make(chan error, 1)
	if t.Profile == "" {
		done <- nil
		return done
	}
	go func() {
		content, err := t.ask(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds))
		if err == nil {
			err = os.WriteFile(filepath.Join(t.Profile, t.program+"-"+of+".pprof"), content, 0o600)
		}
		done <- err
	}()
	return done
}
