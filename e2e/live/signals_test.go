package live_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/live"
)

// TestAnInterruptLeavesNoCluster interrupts a test binary that brings a cluster up: this one, for which TMPDIR is a
// directory where a cluster that is left would be found.
func TestAnInterruptLeavesNoCluster(t *testing.T) {
	test := t.Name()
	if os.Getenv("INTERRUPTED") != "" {
		if _, err := live.BringUpForTests(t.Context(), devcluster.Options{Components: []string{}}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("up")
		<-t.Context().Done()
	}
	for _, c := range []struct {
		name string
		// until waits for the moment to interrupt.
		until func(t *testing.T, temporary string, output *bufio.Scanner)
	}{
		{"while it starts", func(t *testing.T, temporary string, _ *bufio.Scanner) {
			wait(t, "etcd runs", func() bool { return len(running(t, temporary)) > 0 })
		}},
		{"when it is up", func(t *testing.T, _ string, output *bufio.Scanner) {
			for output.Scan() {
				if output.Text() == "up" {
					return
				}
			}
			t.Fatal("the cluster did not come up")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			temporary := t.TempDir()
			binary := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
			binary.Env = append(os.Environ(), "INTERRUPTED=1", "TMPDIR="+temporary)
			binary.Stderr = os.Stderr
			output, err := binary.StdoutPipe()
			require.NoError(t, errors.Join(err, binary.Start()))
			c.until(t, temporary, bufio.NewScanner(output))
			require.NoError(t, binary.Process.Signal(os.Interrupt))
			if err := binary.Wait(); err == nil {
				t.Error("the interrupted binary has exit code 0")
			}
			if left := running(t, temporary); len(left) > 0 {
				t.Errorf("processes are left: %s", left)
			}
			if left, err := filepath.Glob(filepath.Join(temporary, "*")); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v (%v)", left, err)
			}
		})
	}
}

// running are the processes with a directory in their command line.
func running(t *testing.T, directory string) []byte {
	t.Helper()
	found, err := exec.CommandContext(t.Context(), "pgrep", "-a", "-f", directory).Output()
	var none *exec.ExitError
	if err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
	return found
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := live.Wait(waiting, what, func(context.Context) (bool, string, error) { return holds(), "", nil })
	require.NoError(t, err)
}
