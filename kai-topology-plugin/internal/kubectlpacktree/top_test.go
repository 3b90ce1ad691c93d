package kubectlpacktree

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"packtree.dev/shared/render"
)

// asPlugin is set for a copy of this test program that is to be the plugin itself.
const asPlugin = "PACKTREE_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		os.Exit(render.Execute(RootCommand()))
	}
	os.Exit(m.Run())
}

// terminal is a pseudo-terminal with the plugin in it.
type terminal struct {
	*testing.T
	file    *os.File
	command *exec.Cmd
	mu      sync.Mutex
	shown   bytes.Buffer
}

func inTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), asPlugin+"=1", "TERM=xterm-256color", "NO_COLOR=1",
		"KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
	file, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{T: t, file: file, command: command}
	t.Cleanup(func() { file.Close() })
	go func() {
		for buffer := make([]byte, 4096); ; {
			n, err := file.Read(buffer)
			term.mu.Lock()
			term.shown.Write(buffer[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

// shows waits until a text has been written to the terminal since it was last asked.
func (t *terminal) shows(text string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		t.mu.Lock()
		at := strings.Index(t.shown.String(), text)
		if at >= 0 {
			t.shown.Next(at + len(text))
		}
		t.mu.Unlock()
		if at >= 0 {
			return
		}
	}
	t.Fatalf("%q is not shown, but %q", text, t.shown.String())
}

func (t *terminal) types(keys string) {
	t.Helper()
	if _, err := io.WriteString(t.file, keys); err != nil {
		t.Fatal(err)
	}
}

func (t *terminal) ends() {
	t.Helper()
	if err := t.command.Wait(); err != nil {
		t.Errorf("it ended with %v; it showed %q", err, t.shown.String())
	}
}

func TestTopInATerminal(t *testing.T) {
	term := inTerminal(t, "top", "-f", dump, "--topology", "racks")
	term.shows("\x1b[?1049h") // The screen is one of its own.
	term.shows("nvidia.com/gpu 11/50")
	term.shows("> zone a")
	term.types("jj")
	term.shows("> zone b")
	term.types("\t")
	term.shows("Gangs")
	term.types("/wide\r")
	term.shows("> default/wide")
	term.types("\r")
	term.shows("Gangs > default/wide")
	term.shows("the gang needs one example.com/rack")
	term.types("q")
	term.shows("\x1b[?1049l") // What was on the screen before is back.
	term.ends()
}

func TestTopEndsByAnInterrupt(t *testing.T) {
	for name, end := range map[string]func(*terminal){
		"a key":    func(term *terminal) { term.types("\x03") },
		"a signal": func(term *terminal) { _ = term.command.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			term := inTerminal(t, "top", "-f", dump)
			term.shows("racks-again")
			end(term)
			term.shows("\x1b[?1049l")
			term.ends()
		})
	}
}

func TestTopIsTreeWhereNobodyLooks(t *testing.T) {
	tree, _, err := run(t, "tree", "-f", dump)
	if err != nil {
		t.Fatal(err)
	}
	top, _, err := run(t, "top", "-f", dump)
	if err != nil || top != tree {
		t.Errorf("error %v, printed %q", err, top)
	}
}

func TestWithoutAClusterThereIsNothingToFollow(t *testing.T) {
	for _, verb := range []string{"view", "top"} {
		_, _, err := run(t, verb, "-s", "nowhere://", "--request-timeout", "x", "--color", "never")
		if err == nil || !strings.Contains(err.Error(), "finding a cluster") {
			t.Errorf("%s: error %v", verb, err)
		}
	}
}
