package kind_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// powerless is an account without rights.
const powerless = 65534

// tries runs docker.sh without a running Docker, as a user, with a directory for its files, and with more in its
// environment.
func tries(t *testing.T, user uint32, cache string, environment ...string) (said string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// A copy: other users may not be able to read the checkout.
	directory := readableByAll(t)
	for _, name := range []string{"docker.sh", "setup.sh"} {
		content, err := os.ReadFile(filepath.Join(root, "e2e", "tools", "kind", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), content, 0o755) //nolint:gosec // others run it
		}
		require.NoError(t, err)
	}
	command := exec.CommandContext(ctx, filepath.Join(directory, "docker.sh"), "true")
	command.Env = append(os.Environ(), "DOCKER_HOST=unix:///nowhere/docker.sock", "PACKTREE_KIND_CACHE="+cache,
		"PACKTREE_KIND_PATIENCE=0")
	command.Env = append(command.Env, environment...)
	if int(user) != os.Getuid() {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	output, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(output)), command.ProcessState.ExitCode()
}

// A missing tool is reported in one line, and a wait in another; nothing is started.
func TestScriptsSayWhatIsMissing(t *testing.T) {
	ours := uint32(os.Getuid()) //nolint:gosec // no account is negative here
	others := ours
	if ours == 0 {
		others = powerless
	}
	for claim, test := range map[string]struct {
		user uint32
		root bool
		make func(t *testing.T, cache string)
		want []string
	}{
		"no root": {others, false, func(*testing.T, string) {},
			[]string{"no Docker daemon answers, and only root can start one"}},
		"another run":         {ours, true, lock, []string{"another run holds ", "another run still holds "}},
		"a disk that is full": {ours, true, small, []string{" are needed"}},
	} {
		t.Run(claim, func(t *testing.T) {
			if test.root && ours != 0 {
				return // Users other than root get no further than the first.
			}
			cache := readableByAll(t)
			test.make(t, cache)
			said, code := tries(t, test.user, cache)
			lines := strings.Split(said, "\n")
			if code != 1 || len(lines) != len(test.want) {
				t.Fatalf("it exits %d and says %q, want 1 and %q", code, said, test.want)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "kind: ") || !strings.Contains(line, test.want[i]) {
					t.Errorf("it says %q, want %q", line, test.want[i])
				}
			}
		})
	}
}

func TestScriptsNeedDockerOrAPT(t *testing.T) {
	if os.Getuid() != 0 {
		return // As above.
	}
	tools := t.TempDir()
	for _, name := range []string{"bash", "dirname", "id", "mkdir"} {
		program, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(program, filepath.Join(tools, name))
		}
		require.NoError(t, err)
	}
	said, code := tries(t, 0, readableByAll(t), "PATH="+tools)
	if code != 1 || strings.Contains(said, "\n") || !strings.HasPrefix(said, "kind: missing: docker.io ") ||
		!strings.Contains(said, "no apt-get") ||
		strings.Count(said, "util-linux") != 1 {
		t.Errorf("it exits %d and says %q, want 1 and what is missing", code, said)
	}
}

// A Docker without the right to use cgroups answers, but its nodes would never become ready.
func TestScriptsNeedADockerWithCgroups(t *testing.T) {
	for driver, want := range map[string]string{
		"none":    "kind: Docker has no rights to cgroups (its cgroup driver is none), ",
		"systemd": "",
	} {
		t.Run(driver, func(t *testing.T) {
			programs := readableByAll(t)
			docker := "#!/bin/sh\n[ \"$1\" != info ] || echo " + driver + "\n"
			if err := os.WriteFile(filepath.Join(programs, "docker"), []byte(docker), 0o755); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
			said, code := tries(t, uint32(os.Getuid()), readableByAll(t), "PATH="+programs+":"+os.Getenv("PATH")) //nolint:gosec // as above
			if (code != 0) != (want != "") || !strings.HasPrefix(said, want) || strings.Contains(said, "\n") {
				t.Errorf("it exits %d and says %q, want %q", code, said, want)
			}
		})
	}
}

// readableByAll makes a directory that other users than root can use.
func readableByAll(t *testing.T) string {
	t.Helper()
	directory, err := os.MkdirTemp("", "packtree-kind-") //nolint:usetesting // below a directory that only its owner may enter
	if err == nil {
		err = os.Chmod(directory, 0o777) //nolint:gosec // others write there too
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	return directory
}

// lock holds the lock that another run would hold.
func lock(t *testing.T, cache string) {
	t.Helper()
	file, err := os.Create(filepath.Join(cache, "lock"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}

// small mounts a file system of a few mebibytes below a directory. In the namespaces of docker.sh no other process sees
// it.
func small(t *testing.T, cache string) {
	t.Helper()
	require.NoError(t, syscall.Mount("tmpfs", cache, "tmpfs", 0, "size=8m"))
	t.Cleanup(func() {
		assert.NoError(t, syscall.Unmount(cache, 0))
	})
}
