package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyVersionsAreFrozen(t *testing.T) {
	for _, release := range []string{"0.1.0", "v0.1", "main", "v0.1.0/..", ""} {
		if err := freeze(t.Context(), t.TempDir(), release); err == nil ||
			!strings.Contains(err.Error(), "write it as v1.2.3") {
			t.Errorf("%q: %v", release, err)
		}
	}
}

func TestAReleaseThatIsOutStaysAsItWas(t *testing.T) {
	root := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q",
			"--allow-empty", "-m", "all"},
		{"tag", "shared/v0.1.0"},
	} {
		git := exec.Command("git", args...)
		git.Dir = root
		if output, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, output)
		}
	}
	for release, stays := range map[string]bool{"v0.1.0": true, "v0.2.0": false} {
		folder := filepath.Join(root, release)
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "crds"), 0o750))
		err := makeRoom(t.Context(), folder, release)
		if stays && (err == nil || !strings.Contains(err.Error(), "shared/v0.1.0 is released")) ||
			!stays && err != nil {
			t.Errorf("%s: %v", release, err)
		}
		if _, err := os.Stat(folder); (err == nil) != stays {
			t.Errorf("%s: the folder is there: %t", release, err == nil)
		}
	}
}
