package compatibility_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"packtree.dev/e2e/compatibility"
	"packtree.dev/shared/api/crds"
)

// frozen is the release that `make freeze` stores.
var frozen = flag.String("freeze", "", "store what this release of the kinds leaves in a cluster: v1.2.3")

// calm is how long nothing must change before all programs count as done.
const calm = 10 * time.Second

// TestFreeze stores what a release leaves in a cluster: its CRDs, the nodes, and all objects as its programs keep them,
// statuses included. From then on the tests compare every later version with them.
func TestFreeze(t *testing.T) {
	if *frozen == "" {
		t.Skip("make freeze does this, once with each release")
	}
	ctx, folder := t.Context(), filepath.Join(testdata(t), *frozen)
	require.NoError(t, makeRoom(ctx, folder, *frozen))
	nodes := filepath.Join(testdata(t), "today", "nodes.yaml")
	played, err := os.ReadFile(nodes)
	require.NoError(t, err)
	i := bringUp(t, nodes, nil)
	i.works(ctx, t, namespace)
	var objects []*unstructured.Unstructured
	last, since := "", time.Now()
	i.until(ctx, t, "nothing changes any more", func(ctx context.Context) (bool, string, error) {
		var err error
		objects, err = kept(ctx, i)
		now := ""
		for _, object := range objects {
			now += string(object.GetUID()) + object.GetResourceVersion() + " "
		}
		if now != last {
			last, since = now, time.Now()
		}
		return err == nil && time.Since(since) > calm, fmt.Sprintf("%d objects", len(objects)), err
	})
	release := compatibility.Release{Folder: folder, Version: *frozen, Objects: objects}
	require.NoError(t, release.Write(crds.Files, played))
	fmt.Printf("stored in %s: commit it with the changelog of the release\n", folder)
}

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
