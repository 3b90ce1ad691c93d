package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// heartbeat is how often a build that is still running says so.
const heartbeat = 15 * time.Second

// temporary begins the name of a binary that is not finished.
const temporary = ".building-"

// build compiles one tool next to its place and renames it, so that whoever looks finds a whole binary or none.
func build(ctx context.Context, t tool, pins pins, into, label string, progress io.Writer) error {
	unfinished, err := filepath.Abs(filepath.Join(into, temporary+t.name))
	if err != nil {
		return err
	}
	defer os.Remove(unfinished)
	// -v names each package as it is compiled, which is the only sign of progress that the compiler gives.
	compile := exec.CommandContext(ctx, "go", "build", "-v", "-ldflags", ldflags(t, pins), "-o", unfinished, t.pkg)
	compile.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	// An interrupt lets go clean its own temporary files up.
	compile.Cancel = func() error { return compile.Process.Signal(os.Interrupt) }
	compile.WaitDelay = 10 * time.Second
	output := &compileOutput{}
	compile.Stdout, compile.Stderr = output, output

	fmt.Fprintf(progress, "%s: building\n", label)
	started := time.Now()
	done := make(chan error, 1)
	go func() { done <- compile.Run() }()
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			fmt.Fprintf(progress, "%s: still building after %s, %s\n", label, time.Since(started).Round(time.Second), output.done())
		case err := <-done:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("%w\n%s", err, output.complaints())
			}
			if err := os.Rename(unfinished, filepath.Join(into, t.name)); err != nil {
				return err
			}
			fmt.Fprintf(progress, "%s: built in %s\n", label, time.Since(started).Round(time.Second))
			return nil
		}
	}
}

// removeLeftovers removes what a build that was killed has left. The caller holds the lock.
func removeLeftovers(into string) {
	leftovers, _ := filepath.Glob(filepath.Join(into, temporary+"*"))
	for _, leftover := range leftovers {
		os.Remove(leftover)
	}
}

// compileOutput counts the packages that `go build -v` names, one per line, and keeps everything else.
type compileOutput struct {
	mu        sync.Mutex
	packages  int
	downloads int
	other     []string
	rest      string
}

func (o *compileOutput) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest += string(text)
	end := strings.LastIndexByte(o.rest, '\n')
	if end < 0 {
		return len(text), nil
	}
	lines := bufio.NewScanner(strings.NewReader(o.rest[:end]))
	for lines.Scan() {
		o.add(lines.Text())
	}
	o.rest = o.rest[end+1:]
	return len(text), nil
}

func (o *compileOutput) add(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.downloads++
	case line != "" && !strings.ContainsAny(line, " \t#"):
		o.packages++
	default:
		o.other = append(o.other, line)
	}
}

// done says how far the compiler is.
func (o *compileOutput) done() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.packages == 0 && o.downloads > 0 {
		return fmt.Sprintf("%d modules downloaded", o.downloads)
	}
	return fmt.Sprintf("%d packages compiled", o.packages)
}

// complaints are the last lines that are neither a package nor a download.
func (o *compileOutput) complaints() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	const last = 30
	lines := o.other
	if o.rest != "" {
		lines = append(lines, o.rest)
	}
	return strings.Join(lines[max(0, len(lines)-last):], "\n")
}
