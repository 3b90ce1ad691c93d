package kind_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/compatibility"
)

// oldest are today's charts with the kinds of the first release, as it left them in clusters.
func oldest(t *testing.T) string {
	t.Helper()
	releases, err := compatibility.Releases(filepath.Join(root, "e2e", "compatibility", "testdata"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("the releases are %v: %v", releases, err)
	}
	definitions, err := releases[0].Files()
	require.NoError(t, err)
	charts := filepath.Join(t.TempDir(), "charts")
	require.NoError(t, compatibility.CopyCharts(filepath.Join(root, "charts"), charts, definitions))
	return filepath.Join(charts, "packtree")
}

// kindsAreToday compares the kinds of the cluster with those of the repository, as the API server would change them.
func kindsAreToday(want bool) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		difference, err := kubectl(ctx, "diff", "--server-side", "--force-conflicts", "-f",
			filepath.Join("shared", "api", "crds"))
		if (err == nil) != want || want && difference != "" {
			t.Errorf("the kinds are today's: %t, want %t: %v\n%.4000s", err == nil, want, err, difference)
		}
		return ctx
	}
}

// podsStay runs a step, after which the pods of the workloads have to be the same as before, without restarts.
func podsStay(step types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		pods := func() []string {
			const each = `{range .items[*]}{.metadata.name} {.metadata.uid} {.spec.nodeName} {.status.containerStatuses[*].restartCount}{"\n"}{end}`
			return strings.Split(answer(ctx, t, "get", "pods", "--sort-by=.metadata.name", "-o", "jsonpath="+each),
				"\n")
		}
		before := pods()
		if len(before) < 2 {
			t.Fatalf("there are no pods to stay: %v", before)
		}
		ctx = step(ctx, t, config)
		assert.Empty(t, cmp.Diff(before, pods()), "pods (-before +after)")
		return ctx
	}
}
