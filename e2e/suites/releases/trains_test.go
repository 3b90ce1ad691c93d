package releases

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"

	"packtree.dev/e2e/release"
)

// neverReleased is the module of the tests.
const neverReleased = "e2e"

func TestEveryModuleAndTheChartOfAllAreReleased(t *testing.T) {
	var released []string
	for _, train := range trains(t) {
		released = append(released, train.Name)
		if train.Name != "shared" && train.Chart == "" {
			t.Errorf("%s has no chart", train.Name)
		}
		if component := train.GoMod != nil &&
			train.Chart != ""; component != slices.Contains(train.Images, train.Name) {
			t.Errorf("%s has images %v", train.Name, train.Images)
		}
	}
	want := append(modules(t), "packtree")
	slices.Sort(want)
	assert.Empty(t, cmp.Diff(want, released), "trains (-want +got)")
}

// Whatever the commit, the latest files of the CHANGELOGs could be released with it, as if nothing had changed since
// earlier releases.
func TestTheLatestVersionsGoTogether(t *testing.T) {
	standing := release.Standing{Trains: trains(t), Changed: func(string, string) ([]string, error) { return nil, nil }}
	for _, train := range standing.Trains {
		versions := slices.SortedFunc(slices.Values(train.Versions), semver.Compare)
		if len(versions) == 0 {
			t.Fatalf("%s has an empty CHANGELOG", train.Name)
		}
		for _, earlier := range versions[:len(versions)-1] {
			standing.Tags = append(standing.Tags, release.Release{Train: train, Version: earlier}.Tag())
		}
		standing.Along = append(standing.Along, release.Release{Train: train, Version: versions[len(versions)-1]})
	}
	for _, latest := range standing.Along {
		assert.NoError(t, release.Repository{Root: repository}.Judge(latest, standing))
	}
}

func trains(t *testing.T) []release.Train {
	t.Helper()
	found, err := release.Trains(repository)
	require.NoError(t, err)
	return found
}

func TestEverySuiteIsAJobOfCI(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(repository, "e2e", "suites", "*", "*_test.go"))
	require.NoError(t, err)
	var want []string
	for _, file := range folders {
		if suite := filepath.Base(filepath.Dir(file)); !slices.Contains(want, suite) {
			want = append(want, suite)
		}
	}
	workflow, err := os.ReadFile(filepath.Join(repository, ".github", "workflows", "ci.yaml"))
	require.NoError(t, err)
	jobs := matrix(t)["suites"]
	if strings.Contains(string(workflow), "- run: make e2e-kind\n") { // A job of its own, because it needs Docker.
		jobs = append(jobs, "kind")
	}
	// They start in another order: the longest first.
	assert.Empty(t, cmp.Diff(want, slices.Sorted(slices.Values(jobs))), "suites (-want +got)")
}

// modules are those of the Makefile, except the one that is never released.
func modules(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(matrix(t)["modules"], func(module string) bool { return module == neverReleased })
}

// matrix are the inputs of the jobs of CI, in their form.
func matrix(t *testing.T) map[string][]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "output")
	writing := exec.Command("make", "-s", "-C", repository, "matrix")
	writing.Env = append(writing.Environ(), "GITHUB_OUTPUT="+file)
	if printed, err := writing.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	output, err := os.ReadFile(file)
	require.NoError(t, err)
	lists := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		name, list, _ := strings.Cut(line, "=")
		var all []string
		if err := json.Unmarshal([]byte(list), &all); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lists[name] = all
	}
	return lists
}
