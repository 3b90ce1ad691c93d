package apiservertest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnInterruptedTestStopsWhatItHasStarted(t *testing.T) {
	if os.Getenv("INTERRUPTED") != "" {
		stopOnInterrupt(func() error { _, err := fmt.Println("stopped"); return err })
		fmt.Println("started")
		select {}
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), "INTERRUPTED=1")
	output, err := command.StdoutPipe()
	err = errors.Join(err, command.Start())
	require.NoError(t, err)
	lines := bufio.NewScanner(output)
	for _, want := range []string{"started", "stopped"} {
		require.True(t, lines.Scan())
		require.Equal(t, want, lines.Text())
		require.False(t, want == "started" && command.Process.Signal(os.Interrupt) != nil, "it has ended")
	}
	var ended *exec.ExitError
	if err := command.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("it ends with %v, want the signal", err)
	}
}
