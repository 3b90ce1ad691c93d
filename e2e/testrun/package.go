package testrun

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// state is what became of a package.
type state string

const (
	running state = "running"
	passed  state = "ok"
	failed  state = "FAIL"
	skipped state = "skip"
)

// result is a package whose tests run or have run.
type result struct {
	// name is the import path without the module path's host.
	name    string
	state   state
	started time.Time
	took    time.Duration
	// cpu is the time that all processes of the package computed, the API servers and clusters that it started included; 0 if go remembered the
	// result of an earlier run.
	cpu time.Duration
	// passed and skipped count tests and subtests, and failed has the names of those that failed.
	passed, skipped int
	failed          []string
	// log has all that the tests printed.
	log *os.File
}

const host = "packtree.dev/"

func newResult(importPath, logs string, now time.Time) (*result, error) {
	name := strings.TrimPrefix(importPath, host)
	log, err := os.Create(filepath.Join(logs, strings.ReplaceAll(name, "/", "_")+".log"))
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", name, err)
	}
	return &result{name: name, state: running, started: now, log: log}, nil
}

// take counts the end of a test, or notes the end of the package, and returns whether it was the package's.
func (r *result) take(e event) (ended bool) {
	switch {
	case e.Action == "output":
		fmt.Fprint(r.log, e.Output)
		r.cpu += cpuOf(e.Output)
		if strings.HasSuffix(e.Output, "\t(cached)\n") {
			r.cpu = 0
		}
	case e.Test != "":
		r.count(e)
	case e.Action == "pass", e.Action == "skip", e.Action == "fail":
		r.state, r.took = map[string]state{"pass": passed, "skip": skipped, "fail": failed}[e.Action], e.took()
		return true
	}
	return false
}

func (r *result) count(e event) {
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
	case "fail":
		r.failed = append(r.failed, e.Test)
	}
}

// line says how the package ended.
func (r *result) line() string {
	line := fmt.Sprintf("%-4s %8s %8s  %s", r.state, seconds(r.took), seconds(r.cpu), r.name)
	if r.state == failed {
		line += ": " + r.log.Name()
	}
	return line
}

// part is what the summary has a line for: a suite, or the module that the package belongs to.
func (r *result) part() string {
	if directory, suite := path.Split(r.name); directory == suites {
		return directory + suite
	}
	module, _, _ := strings.Cut(r.name, "/")
	return module
}

const suites = "e2e/suites/"

func seconds(took time.Duration) string {
	return fmt.Sprintf("%.1fs", took.Seconds())
}
