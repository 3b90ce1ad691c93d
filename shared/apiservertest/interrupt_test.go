package apiservertest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
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
	if err = errors.Join(err, command.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for _, want := range []string{"started", "stopped"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("it says %q, want %q", lines.Text(), want)
		}
		if want == "started" && command.Process.Signal(os.Interrupt) != nil {
			t.Fatal("it has ended")
		}
	}
	var ended *exec.ExitError
	if err := command.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("it ends with %v, want the signal", err)
	}
}
