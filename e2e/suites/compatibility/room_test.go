package compatibility_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/version"
)

// makeRoom removes an earlier attempt at a release. Once a release is out, its files do not change.
func makeRoom(ctx context.Context, folder, release string) error {
	parsed, err := version.ParseSemantic(release)
	if err != nil || release != "v"+parsed.String() {
		return fmt.Errorf("%q is no version: write it as v1.2.3", release)
	}
	git := exec.CommandContext(ctx, "git", "tag", "--list", "shared/"+release)
	git.Dir = filepath.Dir(folder)
	tagged, err := git.Output()
	if err != nil {
		return fmt.Errorf("looking for the tag of %s: %w", release, err)
	}
	if len(tagged) > 0 {
		return fmt.Errorf("%s is released: what it left in clusters does not change any more; freeze the version that "+
			"comes next", bytes.TrimSpace(tagged))
	}
	return os.RemoveAll(folder)
}

func TestAReleaseThatIsOutStaysAsItWas(t *testing.T) {
	root := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q",
		"--allow-empty", "-m", "all"}, {"tag", "shared/v0.1.0"}} {
		git := exec.Command("git", args...)
		git.Dir = root
		require.NoError(t, git.Run())
	}
	for release, says := range map[string]string{"v0.1.0": "shared/v0.1.0 is released", "v0.2.0": "", "0.2.0": "as v1.2.3",
		"v0.1.0/..": "as v1.2.3"} {
		folder := filepath.Join(root, filepath.Base(release))
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "crds"), 0o750))
		err := makeRoom(t.Context(), folder, release)
		if says == "" {
			require.NoError(t, err)
			require.NoDirExists(t, folder)
			continue
		}
		require.ErrorContains(t, err, says)
		require.DirExists(t, folder)
	}
}
