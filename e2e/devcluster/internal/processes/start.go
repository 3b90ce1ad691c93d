// Package processes starts programs that outlive their starter, and finds and ends them again, also after a crash of
// the starter.
package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Spec is a program to run.
type Spec struct {
	// Name is unique among the processes of a directory.
	Name string
	// Program is the path of the executable.
	Program string
	// Args are its arguments, without the program itself.
	Args []string
	// Env is added to the environment of the caller.
	Env []string
	// Log receives what it prints.
	Log string
}

// Process is a process that the calling one has started.
type Process struct {
	// Spec from which it was started.
	Spec Spec
	PID  int
	// asked reports whether the caller has asked it to end, before or after it did.
	asked atomic.Bool
	ended chan struct{}
	// Ran is how long it ran, and Err how it ended. Both are set when it has ended.
	Ran time.Duration
	Err error
}

const recordSuffix = ".pid"

// recorded is run by the shell that becomes the program. It first writes its own number and start time, so that there
// is never a program without a record, whenever the starter is killed. Descriptor 3 is the lock: the next holder finds
// every process recorded.
const recorded = `set -e
record=$1; shift
if [ -r ` + bootID + ` ]; then
	read -r stat </proc/$$/stat
	read -r boot <` + bootID + `
	start=$(set -- $stat; shift 21; echo "$1")@$boot
else
	start=$(ps -o lstart= -p $$)
fi
echo "$$ $start" >"$record.new"
mv "$record.new" "$record"
exec "$@" 3>&-
`

// Start runs the program as the leader of its own session, so that neither Ctrl-C nor the end of the terminal reaches
// it. Its record is written to the directory; the lock is held until then.
func Start(spec Spec, directory string, lock *os.File) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	record := filepath.Join(directory, spec.Name+recordSuffix)
	command := exec.Command("/bin/sh", append([]string{"-c", recorded, "sh", record, spec.Program}, spec.Args...)...)
	command.Env = append(os.Environ(), spec.Env...)
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{lock}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	process, started := &Process{Spec: spec, PID: command.Process.Pid, ended: make(chan struct{})}, time.Now()
	go func() {
		process.Err = command.Wait()
		process.Ran = time.Since(started)
		close(process.ended)
	}()
	return process, nil
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} {
	return p.ended
}

// Runs reports whether the process has not ended.
func (p *Process) Runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Asked reports whether the calling process has asked this one to end, before or after it ended by itself.
func (p *Process) Asked() bool {
	return p.asked.Load()
}

// Failure says how the process ended, with the end of its log. It must have ended.
func (p *Process) Failure() error {
	how := "exit status 0"
	if p.Err != nil {
		how = p.Err.Error()
	}
	return fmt.Errorf("%s ended (%s), its log ends with:\n%s", p.Spec.Name, how, Tail(p.Spec.Log, 20))
}

// Tail returns the last lines of a log.
func Tail(log string, count int) string {
	content, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
