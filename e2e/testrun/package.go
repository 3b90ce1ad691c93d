package testrun

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// state is the result of a package.
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
	// cpu is the CPU time of all processes of the package, including the API servers and clusters that it started; 0 if
	// go cached the result of an earlier run.
	cpu time.Duration
	// passed and skipped count tests and subtests, and failed has the names of failed ones.
	passed, skipped int
	failed          []string
	// said has the first and last lines of each test that has not passed, those outside of tests under the empty name.
	said map[string][]string
	// log has the whole output.
	log *os.File
}

const host = "packtree.dev/"

func newResult(importPath, logs string, now time.Time) (*result, error) {
	name := strings.TrimPrefix(importPath, host)
	log, err := os.Create(filepath.Join(logs, strings.ReplaceAll(name, "/", "_")+".log"))
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", name, err)
	}
	return &result{name: name, state: running, started: now, said: map[string][]string{}, log: log}, nil
}

// take counts the end of a test, or records the end of the package, and returns whether it was the package's.
func (r *result) take(e event) (ended bool) {
	switch {
	case e.Action == "output":
		fmt.Fprint(r.log, e.Output)
		r.keep(e.Test, e.Output)
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
		delete(r.said, e.Test)
	case "skip":
		r.skipped++
		delete(r.said, e.Test)
	case "fail":
		r.failed = append(r.failed, e.Test)
	}
}

// The first and last lines of a test say what went wrong: those of a panic are the first ones.
const first, last = 6, 10

func (r *result) keep(test, output string) {
	lines := r.said[test]
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - first - last; more > 0 {
		lines = slices.Delete(lines, first, first+more)
	}
	r.said[test] = lines
}

// line says how the package ended, followed by the output of failed tests.
func (r *result) line() string {
	line := fmt.Sprintf("%-4s %8s %8s  %s", r.state, seconds(r.took), seconds(r.cpu), r.name)
	if r.state == failed {
		line += ": " + r.log.Name() + r.why()
	}
	return line
}

// why has the output of each failed test, without those that failed only because a subtest did; if no test is known to
// have failed, the output of the package.
func (r *result) why() string {
	var why strings.Builder
	causes := slices.DeleteFunc(slices.Clone(r.failed), func(test string) bool {
		return slices.ContainsFunc(r.failed, func(other string) bool { return strings.HasPrefix(other, test+"/") })
	})
	if len(causes) == 0 {
		causes = []string{""}
	}
	for _, test := range causes {
		for _, line := range append([]string{cmp.Or(test, r.name)}, r.said[test]...) {
			fmt.Fprintf(&why, "\n       %s", line)
		}
	}
	return why.String()
}

// part is the summary's line for the package: a suite, or its module.
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
