package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func lockFile(t *testing.T, directory string) *os.File {
	t.Helper()
	lock, err := os.Create(filepath.Join(directory, "lock"))
	require.NoError(t, err)
	t.Cleanup(func() { lock.Close() })
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	return lock
}

func start(t *testing.T, directory, script string) *Process {
	t.Helper()
	spec := Spec{Name: "it", Program: "/bin/sh", Args: []string{"-c", script},
		Log: filepath.Join(directory, "log")}
	process, err := Start(spec, directory, lockFile(t, directory))
	require.NoError(t, err)
	t.Cleanup(process.Kill)
	return process
}

// patience bounds each wait, on a busy machine.
const patience = time.Minute

func record(t *testing.T, directory string) Record {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if records, err := Recorded(directory); err == nil && len(records) == 1 {
			return records[0]
		}
	}
	t.Fatal("no record appears")
	return Record{}
}

func TestAProcessIsFoundByItsRecordAndEnded(t *testing.T) {
	directory := t.TempDir()
	process := start(t, directory, "exec sleep 60")
	r := record(t, directory)
	if r.Name != "it" || r.PID != process.PID || !r.Alive() {
		t.Fatalf("record %+v, alive: %v; want it, %d", r, r.Alive(), process.PID)
	}
	require.NoError(t, Kill([]Record{r}))
	<-process.Ended()
	if r.Alive() {
		t.Error("a killed process counts as alive")
	}
}

func TestWhatAProcessStartedEndsWithIt(t *testing.T) {
	directory := t.TempDir()
	process := start(t, directory, `sleep 60 & echo $!; wait`)
	r := record(t, directory)
	var child Record
	for deadline := time.Now().Add(patience); child.PID == 0 && time.Now().Before(deadline); {
		child, _ = parseRecord(Tail(process.Spec.Log, 1) + " unknown")
	}
	var alive bool
	if child.Start, alive = startOf(child.PID); !alive {
		t.Fatal("the child does not run")
	}
	require.NoError(t, Kill([]Record{r}))
	if left := waitForEnd([]Record{child}, patience); left != nil {
		t.Errorf("the child is left: %v", left)
	}
}

func TestAnotherProcessWithTheSameNumberIsLeftAlone(t *testing.T) {
	directory := t.TempDir()
	process := start(t, directory, "exec sleep 60")
	other := record(t, directory)
	other.Start = "1" + other.Start
	if other.Alive() {
		t.Error("a process that started at another time counts as the recorded one")
	}
	require.NoError(t, Kill([]Record{other}))
	select {
	case <-process.Ended():
		t.Error("it was killed")
	case <-time.After(50 * time.Millisecond):
	}
}

func TestAProcessThatIsNotReapedHasEnded(t *testing.T) {
	command := exec.Command("/bin/true")
	require.NoError(t, command.Start())
	defer func() { _ = command.Wait() }()
	start, _ := startOf(command.Process.Pid)
	if left := waitForEnd([]Record{{PID: command.Process.Pid, Start: start}}, patience); left != nil {
		t.Error("a zombie counts as alive")
	}
}

func TestTerminateLetsAProcessFinish(t *testing.T) {
	directory := t.TempDir()
	process := start(t, directory, `trap 'echo finished; exit 3' TERM; echo begun; while :; do sleep 0.01; done`)
	r := record(t, directory)
	for deadline := time.Now().Add(patience); Tail(process.Spec.Log, 1) != "begun" &&
		time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	Terminate([]Record{r}, patience)
	<-process.Ended()
	failure := process.Failure().Error()
	if !strings.Contains(failure, "it ended (exit status 3)") || !strings.HasSuffix(failure, "finished") {
		t.Errorf("got %q", failure)
	}
}

func TestTheLockIsHeldUntilTheProcessIsRecordedAndNoLonger(t *testing.T) {
	directory := t.TempDir()
	lock := lockFile(t, directory)
	spec := Spec{Name: "it", Program: "/bin/sleep", Args: []string{"60"}, Log: filepath.Join(directory, "log")}
	process, err := Start(spec, directory, lock)
	require.NoError(t, err)
	defer process.Kill()
	// As if the starter had been killed right here.
	lock.Close()
	other, err := os.Open(filepath.Join(directory, "lock"))
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX))
	if records, err := Recorded(directory); err != nil || len(records) != 1 {
		t.Errorf("the lock is free and the records are %v, %v", records, err)
	}
}

func TestAProcessWhoseDirectoryIsGoneDoesNotStart(t *testing.T) {
	directory := t.TempDir()
	spec := Spec{Name: "it", Program: "/bin/sleep", Args: []string{"600"}, Log: filepath.Join(directory, "log")}
	process, err := Start(spec, filepath.Join(directory, "removed"), lockFile(t, directory))
	require.NoError(t, err)
	select {
	case <-process.Ended():
	case <-time.After(patience):
		process.Kill()
		t.Error("a program runs of which there is no record")
	}
}

func TestARecordThatIsNoneIsAnError(t *testing.T) {
	for _, content := range []string{"", "12", "x y", "1 systemd", "-5 z"} {
		if record, err := parseRecord(content); err == nil {
			t.Errorf("%q is read as %+v", content, record)
		}
	}
}
