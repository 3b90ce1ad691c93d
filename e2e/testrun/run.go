// Package testrun runs several `go test` in parallel and reports their packages: a line for each that is slow or fails,
// the output of each in a file, and a summary with the time of each suite and module.
package testrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is one `go test`.
type Command struct {
	// Directory in which it runs, the working directory if empty; Environment is added to that of the process.
	Directory   string
	Environment []string
	// Exec is a program that runs the test binaries, which are its arguments; none if empty.
	Exec string
	// Arguments follow `go test -json`.
	Arguments []string
}

// Run is a set of commands that run in parallel.
type Run struct {
	// Output gets the progress and the summary.
	Output io.Writer
	// Logs is the directory for the output of packages. Its old content is removed.
	Logs string

	// lines is Output for several goroutines.
	lines *shared
	// timed is the script that runs test binaries.
	timed string

	mu      sync.Mutex
	results map[string]*result
	// cpu is the CPU time of the ended commands, with all their processes.
	cpu time.Duration
	// compiler has its output about each import path.
	compiler map[string]string
}

const (
	// short is how long a package may take without a line of its own.
	short = time.Second
	// heartbeat is how often the running packages are named, while there is no other output.
	heartbeat = 30 * time.Second
	// grace is the time in which tests may take their clusters down when the run is cancelled.
	grace = 30 * time.Second
)

// ErrFailed is returned when tests failed; the output says which.
var ErrFailed = errors.New("tests failed")

// Do runs the commands and returns when all have ended.
func (r *Run) Do(ctx context.Context, commands ...Command) error {
	r.lines = &shared{to: r.Output}
	r.results, r.compiler = map[string]*result{}, map[string]string{}
	if err := errors.Join(os.RemoveAll(r.Logs), os.MkdirAll(r.Logs, 0o755)); err != nil {
		return err
	}
	var err error
	if r.timed, err = writeTimed(r.Logs); err != nil {
		return err
	}
	started := time.Now()
	errs := make([]error, len(commands))
	var all sync.WaitGroup
	for i, command := range commands {
		all.Go(func() { errs[i] = r.follow(ctx, command) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	r.watch(done)
	summary := summarize(r.sorted(), time.Since(started), r.cpu)
	if err := os.WriteFile(filepath.Join(r.Logs, "summary.txt"), []byte(summary), 0o644); err != nil {
		return err
	}
	fmt.Fprint(r.lines, summary)
	return one(errs)
}

// one is the error that stopped a command, or else ErrFailed, once however many commands return it.
func one(errs []error) error {
	failed := slices.Contains(errs, ErrFailed)
	others := slices.DeleteFunc(errs, func(err error) bool { return err == nil || errors.Is(err, ErrFailed) })
	if len(others) == 0 && failed {
		return ErrFailed
	}
	return errors.Join(others...)
}

// follow runs one command. The error is ErrFailed if go test ran and did not succeed.
func (r *Run) follow(ctx context.Context, command Command) error {
	by := `-exec="` + r.timed + `"`
	if command.Exec != "" {
		by = `-exec="` + command.Exec + `" "` + r.timed + `"`
	}
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-json", by}, command.Arguments...)...)
	test.Dir, test.Env, test.Stderr = command.Directory, append(os.Environ(), command.Environment...), r.lines
	// In a group of its own, so that the tests are interrupted too, whoever gets the signal.
	test.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	test.Cancel = func() error { return syscall.Kill(-test.Process.Pid, syscall.SIGINT) }
	test.WaitDelay = grace
	output, err := test.StdoutPipe()
	if err != nil {
		return err
	}
	if err := test.Start(); err != nil {
		return err
	}
	reading := read(output, r.lines, r.take)
	ended := test.Wait()
	r.mu.Lock()
	r.cpu += test.ProcessState.UserTime() + test.ProcessState.SystemTime()
	r.mu.Unlock()
	var exit *exec.ExitError
	if errors.As(ended, &exit) && ctx.Err() == nil {
		ended = ErrFailed
	}
	if reading != nil {
		return fmt.Errorf("reading what go test says: %w", reading)
	}
	return ended
}

func (r *Run) take(e event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Package == "" {
		r.compiler[e.ImportPath] += e.Output
		return nil
	}
	known, err := r.result(e.Package)
	if err != nil || !known.take(e) {
		return err
	}
	if e.FailedBuild != "" {
		known.take(event{Action: "output", Output: r.compiler[e.FailedBuild]})
	}
	if known.state == failed || known.took >= short {
		fmt.Fprintln(r.lines, known.line())
	}
	return known.log.Close()
}

func (r *Run) result(importPath string) (*result, error) {
	if known, ok := r.results[importPath]; ok {
		return known, nil
	}
	added, err := newResult(importPath, r.Logs, time.Now())
	if err == nil {
		r.results[importPath] = added
	}
	return added, err
}

// watch names the running packages from time to time.
func (r *Run) watch(done <-chan struct{}) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			if r.lines.quiet() {
				r.sayUnderWay()
			}
		}
	}
}

func (r *Run) sayUnderWay() {
	var names []string
	for _, result := range r.sorted() {
		r.mu.Lock()
		if result.state == running {
			names = append(names, fmt.Sprintf("%s %s", result.name, seconds(time.Since(result.started))))
		}
		r.mu.Unlock()
	}
	if len(names) > 0 {
		fmt.Fprintf(r.lines, "     running: %s\n", strings.Join(names, ", "))
	}
}

func (r *Run) sorted() []*result {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*result
	for _, result := range r.results {
		all = append(all, result)
	}
	slices.SortFunc(all, func(a, b *result) int { return strings.Compare(a.name, b.name) })
	return all
}

// shared lets several goroutines write, a line at a time.
type shared struct {
	mu      sync.Mutex
	to      io.Writer
	written bool
}

// Write is io.Writer's.
func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = true
	return s.to.Write(text)
}

// quiet reports whether nothing was written since its last call.
func (s *shared) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.written = false }()
	return !s.written
}
