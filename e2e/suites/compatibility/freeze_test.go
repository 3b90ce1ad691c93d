//go:build freeze

package compatibility_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
