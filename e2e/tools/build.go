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

// temporary begins the name of a directory with binaries that are not finished.
const temporary = ".building-"

// build compiles tools in another directory and renames them, so that others find a whole binary or none. One call of
// the compiler makes them all: common packages are compiled once, and while one tool is linked the next is compiled.
func build(ctx context.Context, tools []tool, ldflags, into string, progress io.Writer) error {
	unfinished, err := os.MkdirTemp(into, temporary)
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	directory, err := filepath.Abs(unfinished)
	if err != nil {
		return err
	}
	// -v names each package as it is compiled, which is the only sign of progress that the compiler gives.
	arguments := []string{"build", "-v", "-ldflags", ldflags, "-o", directory + string(filepath.Separator)}
	for _, t := range tools {
		arguments = append(arguments, t.pkg)
	}
	if err := compile(ctx, arguments, progress); err != nil {
		return err
	}
	for _, t := range tools {
		if err := os.Rename(filepath.Join(directory, t.built()), filepath.Join(into, t.name)); err != nil {
			return err
		}
	}
	return nil
}

// compile runs go and prints its progress from time to time.
func compile(ctx context.Context, arguments []string, progress io.Writer) error {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	// After an interrupt go removes its own temporary files.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	output := &compileOutput{}
	command.Stdout, command.Stderr = output, output
	started := time.Now()
	done := make(chan error, 1)
	go func() { done <- command.Run() }()
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			fmt.Fprintf(progress, "still building after %s, %s\n", time.Since(started).Round(time.Second),
				output.done())
		case err := <-done:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return fmt.Errorf("%w\n%s", err, output.complaints())
			}
			return nil
		}
	}
}

// removeLeftovers removes the rest of a killed build. The caller holds the lock.
func removeLeftovers(into string) {
	leftovers, _ := filepath.Glob(filepath.Join(into, temporary+"*"))
	for _, leftover := range leftovers {
		os.RemoveAll(leftover)
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

// done describes the compiler's progress.
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
