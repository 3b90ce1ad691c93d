package testrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module writes a module outside of every workspace, and returns the `go test` of all its packages.
func module(t *testing.T, files map[string]string) Command {
	t.Helper()
	directory := t.TempDir()
	files["go.mod"] = "module packtree.dev/m\n\ngo 1.26.0\n"
	for name, content := range files {
		file := filepath.Join(directory, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return Command{Directory: directory, Environment: []string{"GOWORK=off"}, Arguments: []string{"-vet=off", "./..."}}
}

func run(t *testing.T, commands ...Command) (output, logs string, err error) {
	t.Helper()
	var out strings.Builder
	logs = filepath.Join(t.TempDir(), "logs")
	err = (&Run{Output: &out, Logs: logs}).Do(t.Context(), commands...)
	return out.String(), logs, err
}

func lastLine(output string) string {
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	return lines[len(lines)-1]
}

const header = "import (\"testing\"; \"fmt\"; \"time\")\nvar (_ = fmt.Sprint; _ = time.Second; _ testing.TB)\n"

func TestWhatPassedIsCountedAndSlowPackagesHaveALine(t *testing.T) {
	var out strings.Builder
	r := &Run{Output: &out, Logs: filepath.Join(t.TempDir(), "logs")}
	err := r.Do(t.Context(), module(t, map[string]string{
		"slow/slow_test.go": "package slow\n" + header +
			`func TestSlow(t *testing.T) { time.Sleep(1100*time.Millisecond); t.Run("part", func(t *testing.T) { fmt.Println("heard") }) }`,
		"fast/fast_test.go": "package fast\n" + header +
			"func TestFast(t *testing.T) {}\nfunc TestLeft(t *testing.T) { t.Skip() }",
		"none/none.go": "package none",
	}))
	if err != nil {
		t.Fatal(err)
	}
	output := out.String()
	if got := lastLine(output); got != "3 passed, 0 failed" {
		t.Errorf("the last line is %q", got)
	}
	progress, summary, _ := strings.Cut(output, "time")
	for _, of := range r.sorted() { // On a busy machine any of them may be slow.
		if slow := of.name == "m/slow" || of.took >= short; strings.Contains(progress, of.line()+"\n") != slow {
			t.Errorf("%s took %s; lines of progress:\n%s", of.name, of.took, progress)
		}
	}
	if fields := strings.Fields(strings.Split(summary, "\n")[1]); len(fields) != 5 || fields[2] != "3" ||
		fields[3] != "3" || fields[4] != "m" {
		t.Errorf("the module's line has %q, want 3 tests in 3 packages of m", fields)
	}
	if log, err := os.ReadFile(filepath.Join(r.Logs, "m_slow.log")); err != nil ||
		!strings.Contains(string(log), "heard") {
		t.Errorf("the log has not what the test printed: %v\n%s", err, log)
	}
}

func TestEveryWayToFailIsNamedWithItsLog(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		failed string
		says   string
	}{
		"a test fails": {
			`func TestWrong(t *testing.T) { t.Run("part", func(t *testing.T) { t.Error("two is not three") }) }`,
			"TestWrong/part", "two is not three",
		},
		"it does not compile": {`func TestWrong(t *testing.T) { undeclared() }`, "", "undefined: undeclared"},
		"it panics": {`func TestWrong(t *testing.T) { panic("out of its mind") }`, "TestWrong",
			"out of its mind"},
		"it ends the process": {`func init() { fmt.Println("bad start"); var p *int; *p = 1 }`, "", "bad start"},
		"no test runs to fail": {"func TestMain(m *testing.M) { fmt.Println(\"no cluster\"); panic(1) }", "",
			"no cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			output, logs, err := run(t,
				module(t, map[string]string{"a/a_test.go": "package a\n" + header + c.source}),
				module(t, map[string]string{"b/b_test.go": "package b\n" + header + "func TestRight(t *testing.T) {}"}),
			)
			if !errors.Is(err, ErrFailed) {
				t.Errorf("the error is %v", err)
			}
			if got := lastLine(output); !strings.HasPrefix(got, "1 passed, ") || strings.HasSuffix(got, " 0 failed") {
				t.Errorf("the last line is %q", got)
			}
			log := filepath.Join(logs, "m_a.log")
			line, summary, _ := strings.Cut(output, "\ntime")
			if !strings.Contains(summary, "\nFAIL m/a: "+log+"\n") {
				t.Errorf("the summary must name %s:\n%s", log, summary)
			}
			for where, said := range map[string]string{"line of the package": line, "summary": summary} {
				if !strings.Contains(said, c.failed) || !strings.Contains(said, c.says) {
					t.Errorf("the %s must say %q and %q:\n%s", where, c.failed, c.says, said)
				}
			}
			if content, err := os.ReadFile(log); err != nil || !strings.Contains(string(content), c.says) {
				t.Errorf("%s must have %q: %v\n%s", log, c.says, err, content)
			}
		})
	}
}

func TestAProgramRunsTheTests(t *testing.T) {
	wrapper := filepath.Join(t.TempDir(), "a directory", "wrapper")
	script := "#!/bin/sh\necho the wrapper speaks\nINSIDE=yes exec \"$@\"\n"
	if err := errors.Join(os.Mkdir(filepath.Dir(wrapper), 0o755), os.WriteFile(wrapper, []byte(script),
		0o700)); err != nil {
		t.Fatal(err)
	}
	command := module(t, map[string]string{"a/a_test.go": "package a\nimport (\"os\"; \"testing\")\n" +
		`func TestInside(t *testing.T) { if os.Getenv("INSIDE") != "yes" { t.Fatal("outside") } }`})
	command.Exec = wrapper
	output, logs, err := run(t, command)
	if err != nil || lastLine(output) != "1 passed, 0 failed" {
		t.Fatalf("%v\n%s", err, output)
	}
	log, err := os.ReadFile(filepath.Join(logs, "m_a.log"))
	if err != nil || !strings.Contains(string(log), "the wrapper speaks") || !strings.Contains(string(log), cpuLine) {
		t.Errorf("the log has not what the wrapper and the clock say: %v\n%s", err, log)
	}
}

func TestWhatProcessesComputeIsTheirPackages(t *testing.T) {
	// The test itself waits for a process that computes.
	const source = `import ("os"; "os/exec"; "testing")
func TestMain(m *testing.M) {
	if os.Getenv("COMPUTES") != "" {
		for i := range 400_000_000 { x ^= i }
		return
	}
	m.Run()
}
var x int
func TestChild(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "COMPUTES=1")
	if err := child.Run(); err != nil { t.Fatal(err) }
}`
	r := &Run{Output: &strings.Builder{}, Logs: filepath.Join(t.TempDir(), "a directory", "logs")}
	command := module(t, map[string]string{"a/a_test.go": "package a\n" + source})
	if err := r.Do(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	computed := r.sorted()[0].cpu
	if computed <= 0 || r.cpu <= computed {
		t.Errorf("the package computed for %s, and all of the run for %s", computed, r.cpu)
	}
	if err := r.Do(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	if again := r.sorted()[0].cpu; again != 0 {
		t.Errorf("go remembers the result, and the package counts as having computed for %s once more", again)
	}
}

func TestCPUOf(t *testing.T) {
	for line, want := range map[string]time.Duration{
		cpuLine + "0m1.25s 0m0.50s\n":   1750 * time.Millisecond,
		cpuLine + "2m0.004s 0m0.000s\n": 2*time.Minute + 4*time.Millisecond,
		cpuLine + "none\n":              0,
		"PASS\n":                        0,
	} {
		if got := cpuOf(line); got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
}

func TestACommandThatCannotRunIsAnError(t *testing.T) {
	output, _, err := run(t, Command{Directory: t.TempDir(), Environment: []string{"GOWORK=off"},
		Arguments: []string{"./..."}})
	if err == nil {
		t.Errorf("a directory without a module passes:\n%s", output)
	}
}

func TestLogsOfAnEarlierRunAreRemoved(t *testing.T) {
	logs := t.TempDir()
	old := filepath.Join(logs, "old.log")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	command := module(t, map[string]string{"a/a_test.go": "package a\n" + header + "func TestRight(t *testing.T) {}"})
	if err := (&Run{Output: &out, Logs: logs}).Do(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%s is still there", old)
	}
}

func TestSuitesHaveLinesOfTheirOwnAndModulesOneForAllPackages(t *testing.T) {
	for name, want := range map[string]string{
		"e2e/suites/grove":              "e2e/suites/grove",
		"e2e/placement":                 "e2e",
		"grove-operator/internal/gangs": "grove-operator",
		"shared":                        "shared",
	} {
		if got := (&result{name: name}).part(); got != want {
			t.Errorf("%s belongs to %q, want %q", name, got, want)
		}
	}
}

// TestAnInterruptReachesTheTests: they have clusters to take down.
func TestAnInterruptReachesTheTests(t *testing.T) {
	interrupted, began := filepath.Join(t.TempDir(), "interrupted"), filepath.Join(t.TempDir(), "began")
	command := module(t, map[string]string{"waits/waits_test.go": fmt.Sprintf(`package waits
import ("os"; "os/signal"; "testing")
func TestWaits(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	if err := os.WriteFile(%q, nil, 0o600); err != nil { t.Fatal(err) }
	<-signals
	if err := os.WriteFile(%q, nil, 0o600); err != nil { t.Fatal(err) }
}`, began, interrupted)})
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(began); err == nil {
				interrupt()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	err := (&Run{Output: io.Discard, Logs: filepath.Join(t.TempDir(), "logs")}).Do(ctx, command)
	if err == nil {
		t.Error("an interrupted run succeeds")
	}
	if _, err := os.Stat(interrupted); err != nil {
		t.Errorf("the test was not interrupted: %v", err)
	}
}
