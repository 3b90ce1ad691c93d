package compatibility_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/compatibility"
)

// folder writes files, by their paths below a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	made := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(made, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(made, name), []byte(content), 0o600))
	}
	return made
}

// filesBelow are the paths of a folder's files, sorted; links are not followed.
func filesBelow(t *testing.T, top string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(top, path)
			found = append(found, name)
		}
		return err
	})
	require.NoError(t, err)
	slices.Sort(found)
	return found
}

func TestChartsAreCopiedWithOtherDefinitions(t *testing.T) {
	charts := folder(t, map[string]string{"a/Chart.yaml": "a", "a/files/crds/one.yaml": "today",
		"a/files/crds/new.yaml": "today", "b/files/crds-kai/one.yaml": "today", "b/files/alerts.yaml": "b"})
	for claim, test := range map[string]struct {
		definitions map[string][]byte
		want        []string
		one         string
	}{
		"those of a release": {map[string][]byte{"one.yaml": []byte("then")},
			[]string{"a/Chart.yaml", "a/files/crds/one.yaml", "b/files/alerts.yaml", "b/files/crds-kai/one.yaml"},
			"then"},
		"their own": {nil, filesBelow(t, charts), "today"},
	} {
		t.Run(claim, func(t *testing.T) {
			into := filepath.Join(t.TempDir(), "charts")
			require.NoError(t, compatibility.CopyCharts(charts, into, test.definitions))
			if got := filesBelow(t, into); !slices.Equal(got, test.want) {
				t.Errorf("the copy has %v, want %v", got, test.want)
			}
			for _, name := range []string{"a/files/crds/one.yaml", "b/files/crds-kai/one.yaml"} {
				if content, err := os.ReadFile(filepath.Join(into, name)); err != nil || string(content) != test.one {
					t.Errorf("%s is %q, %v, want %q", name, content, err, test.one)
				}
			}
			if err := compatibility.CopyCharts(charts, into, nil); err == nil {
				t.Error("charts are copied over others")
			}
		})
	}
	if err := compatibility.CopyCharts(t.TempDir(), filepath.Join(t.TempDir(), "charts"),
		map[string][]byte{}); err == nil {
		t.Error("charts without definitions are nothing to exchange them in, and nobody says so")
	}
}

func TestTheDefinitionsOfEveryReleaseCanBeRead(t *testing.T) {
	releases, err := compatibility.Releases("testdata")
	if err != nil || len(releases) == 0 {
		t.Fatalf("the releases are %v: %v", releases, err)
	}
	for _, release := range releases {
		files, err := release.Files()
		if err != nil || len(files) != len(release.Definitions) {
			t.Errorf("%s: %d files of %d definitions, %v", release.Version, len(files), len(release.Definitions), err)
		}
	}
}
