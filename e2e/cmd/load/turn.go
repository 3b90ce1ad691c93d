package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

var errEnded = errors.New("the scheduler ended")

// turn is the time in which one of the schedulers runs.
type turn struct {
	*schedulersBench
	scheduler
	tenure *tenure
	pid    int
	ended  <-chan struct{}
	// began is when it got its lease.
	began time.Time
}

// take runs a scheduler during a function. The scheduler has read all existing objects before the clock starts, since
// kube-scheduler reads everything before it asks for its lease. The function's context ends with the scheduler.
func (b *schedulersBench) take(ctx context.Context, s scheduler, do func(context.Context, *turn) error) (err error) {
	tenure, err := b.watchLease(ctx, s)
	if err != nil {
		return err
	}
	if err := b.machine.Start(ctx, s.program); err != nil {
		return err
	}
	t := &turn{schedulersBench: b, scheduler: s, tenure: tenure, pid: b.machine.PID(s.program),
		ended: b.machine.Ended(s.program)}
	defer func() { err = t.end(err) }()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-t.ended:
			stop(errEnded)
		case <-running.Done():
		}
	}()
	select {
	case t.began = <-tenure.began:
		return t.explain(do(running, t))
	case <-running.Done():
		err = context.Cause(running)
	case <-time.After(b.Patience):
		err = fmt.Errorf("it has none after %s", b.Patience)
	}
	return t.explain(fmt.Errorf("waiting until %s holds its lease: %w", s.program, err))
}

// end stops the scheduler, whatever the error.
func (t *turn) end(err error) error {
	t.tenure.watch.Stop()
	stopping, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if left := t.machine.Stop(stopping, t.program); left != nil {
		return errors.Join(err, t.machine.Kill(t.program))
	}
	return err
}

// explain adds the end of the scheduler's log to an error.
func (t *turn) explain(err error) error {
	if err == nil {
		return nil
	}
	content, unread := os.ReadFile(filepath.Join(t.machine.Dir, "logs", t.program+".log"))
	if unread != nil {
		return errors.Join(err, unread)
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	const last = 20
	return fmt.Errorf("%w, and said last:\n%s", err, strings.Join(lines[max(0, len(lines)-last):], "\n"))
}

// ask reads a path of the scheduler's own server, as the administrator.
func (t *turn) ask(ctx context.Context, path string) ([]byte, error) {
	verified, err := rest.TLSConfigFor(t.config)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: verified.Certificates, GetClientCertificate: verified.GetClientCertificate,
		InsecureSkipVerify: true, //nolint:gosec // The scheduler makes its own certificate.
	}}
	defer transport.CloseIdleConnections()
	return fetch(ctx, &http.Client{Transport: transport}, strings.TrimSuffix(t.machine.Health(t.program),
		"/readyz")+path)
}

func (t *turn) metrics(ctx context.Context) (metrics, error) {
	content, err := t.ask(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", t.program, err)
	}
	return parseMetrics(content)
}
