package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"packtree.dev/e2e/devcluster/internal/processes"
)

// patience bounds the start of each program, on a machine that compiles at the same time.
const patience = 4 * time.Minute

// together runs the steps in parallel. The first error cancels the others and is returned.
func together(ctx context.Context, steps ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, step := range steps {
		group.Go(func() error { return step(ctx) })
	}
	return group.Wait()
}

// poll tries until there is no error, and returns the last error after its time.
func poll(ctx context.Context, patience time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		began := time.Now()
		err := try()
		if err == nil {
			return nil
		}
		// A list of thousands of nodes must not take the time that they need to become ready.
		pause := max(100*time.Millisecond, 4*time.Since(began))
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return err
			}
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// probe calls health endpoints.
type probe struct {
	client *http.Client
}

// newProbe uses the administrator's certificate, since etcd answers to no other. Like a kubelet's probe, it does not
// verify server certificates: some programs make their own.
func newProbe(config *rest.Config) (*probe, error) {
	verified, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	unverified := verified.Clone()
	unverified.InsecureSkipVerify = true
	transport := &http.Transport{TLSClientConfig: unverified, DisableKeepAlives: true}
	return &probe{client: &http.Client{Transport: transport, Timeout: 5 * time.Second}}, nil
}

// check returns nil if the endpoint reports success.
func (p *probe) check(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// await waits for the endpoint of the first process, as long as all of them run.
func (p *probe) await(ctx context.Context, url string, of *processes.Process, others ...*processes.Process) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, process := range append(others, of) {
		go func() {
			select {
			case <-ctx.Done():
			case <-process.Ended():
				cancel(process.Failure())
			}
		}()
	}
	err := poll(ctx, patience, func() error { return p.check(ctx, url) })
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("%s does not become healthy: %w, its log ends with:\n%s",
			of.Spec.Name, err, processes.Tail(of.Spec.Log, 20))
	}
}
