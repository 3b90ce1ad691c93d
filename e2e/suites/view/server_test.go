package view_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheServerShowsADumpFromStandardInput serves a page, lets it explain a gang, and ends by an interrupt.
func TestTheServerShowsADumpFromStandardInput(t *testing.T) {
	browser := startChromium(t)
	content, err := os.Open(small().write(t))
	require.NoError(t, err)
	defer content.Close()
	command := packtree(t.Context(), t, "view", "-f", "-", "--no-browser")
	command.Stdin, command.Stderr = content, os.Stderr
	address, ended := start(t, command)
	page := browser.open(t, address+"#gang=team/wide", "light")
	page.says("Gang team/wide")
	page.says("add 3 nodes like r1-n0 to rack z/r1")
	page.until("the state", "document.querySelector('.state.live')?.innerText === 'live'")
	if complaints := page.complaints(); len(complaints) > 0 {
		t.Errorf("the page complains: %q", complaints)
	}
	require.NoError(t, command.Process.Signal(os.Interrupt))
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it goes on after an interrupt")
	}
	page.says("The connection is lost")
	if _, err := http.Get(address); err == nil {
		t.Error("somebody still answers")
	}
}

// start runs a command that prints an address and goes on, and returns the address and how it ends.
func start(t *testing.T, command *exec.Cmd) (address string, ended <-chan error) {
	t.Helper()
	said, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines, end := make(chan string, 1), make(chan error, 1)
	go func() {
		for scanned := bufio.NewScanner(said); scanned.Scan(); {
			lines <- scanned.Text()
		}
		end <- command.Wait()
	}()
	select {
	case address = <-lines:
	case err := <-end:
		t.Fatalf("it ended with %v", err)
	case <-time.After(patience):
		t.Fatal("it printed no address")
	}
	return address, end
}

// serve serves a page until the test is over, and returns its address.
func serve(t *testing.T, flags ...string) (address string) {
	t.Helper()
	args := append([]string{"view", "--no-browser"}, flags...)
	command := packtree(context.WithoutCancel(t.Context()), t, args...)
	command.Stderr = os.Stderr
	address, ended := start(t, command)
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return address
}
