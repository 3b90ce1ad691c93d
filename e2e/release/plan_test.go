package release_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/release"
)

var allTags = []string{"shared/v0.1.0", "podgrouper/v0.1.0", "packtree/v0.1.0"}

// nextGrouper is what a release of the component alone changes.
func nextGrouper(also edit) edit {
	files := edit{
		"podgrouper/CHANGELOG/v0.2.0.md": changelog("podgrouper", "v0.2.0"),
		"charts/podgrouper/Chart.yaml":   "apiVersion: v2\nname: podgrouper\nversion: 0.2.0\nappVersion: \"0.2.0\"\n",
		"charts/packtree/Chart.yaml": strings.Replace(small["charts/packtree/Chart.yaml"], "\n    version: 0.1.0",
			"\n    version: 0.2.0", 1),
	}
	for name, content := range also {
		files[name] = content
	}
	return files
}

func requiring(version string) string {
	return strings.Replace(small["podgrouper/go.mod"], "v0.1.0", version, 1)
}

func TestACommitReleasesWhatItsChangelogsAskForAndNoTagHas(t *testing.T) {
	for name, test := range map[string]struct {
		tags  []string
		edits []edit
		want  []string
	}{
		"everything at first, the needed first": {nil, nil,
			[]string{"shared/v0.1.0", "podgrouper/v0.1.0", "packtree/v0.1.0"}},
		"nothing that has its tag": {allTags, nil, nil},
		"the rest after a release that ended half-way": {
			[]string{"shared/v0.1.0"}, nil, []string{"podgrouper/v0.1.0", "packtree/v0.1.0"}},
		"a component alone": {allTags, []edit{nextGrouper(nil)}, []string{"podgrouper/v0.2.0"}},
		"a library along with who requires it": {allTags, []edit{nextGrouper(edit{
			"shared/greet/greet.go": "// Package greet greets.\npackage greet\n\n// Hello is short.\nconst Hello = " +
				"\"hi\"\n",
			"shared/CHANGELOG/v0.1.1.md": changelog("shared", "v0.1.1"), frozenAt("v0.1.1"): gang,
			"podgrouper/go.mod": requiring("v0.1.1"),
		})}, []string{"shared/v0.1.1", "podgrouper/v0.2.0"}},
		"a candidate of a version": {allTags,
			[]edit{{"shared/CHANGELOG/v0.2.0-rc.1.md": changelog("shared", "v0.2.0-rc.1"),
				frozenAt("v0.2.0-rc.1"): gang}},
			[]string{"shared/v0.2.0-rc.1"}},
		"a component whose library has changed in tests and texts": {allTags, []edit{nextGrouper(edit{
			"shared/greet/greet_test.go": "package greet\n",
			"shared/CHANGELOG/v0.1.0.md": changelog("shared", "v0.1.0"),
			frozenAt("v0.1.0"):           gang + "- Another.\n",
		})}, []string{"podgrouper/v0.2.0"}},
		"tags of others do not count": {[]string{"elsewhere/v9.0.0", "v9.0.0", "podgrouper/v9"}, nil, allTags},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := repository(t, test.tags, test.edits...).Plan(t.Context(), "", "", false)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(test.want, tagsOf(plan.Releases)), "releases (-want +got)")
		})
	}
}

func TestWhatCannotBeReleasedIsRefusedWithItsRemedy(t *testing.T) {
	const newGreeting = "// Package greet greets.\npackage greet\n\n// Hello is short.\nconst Hello = \"hi\"\n"
	for name, test := range map[string]struct {
		edit edit
		want string
	}{
		"a sibling of no version": {nextGrouper(edit{"podgrouper/go.mod": requiring("v0.0.0")}),
			"podgrouper/go.mod: it needs shared v0.0.0, which is not released: name the last tag, v0.1.0, or release"},
		"a sibling that has changed since its tag": {nextGrouper(edit{"shared/greet/greet.go": newGreeting}),
			"it needs shared v0.1.0, but shared has changed since, in shared/greet/greet.go: release shared first"},
		"a sibling released along, and its predecessor required": {
			nextGrouper(edit{"shared/greet/greet.go": newGreeting,
				"shared/CHANGELOG/v0.1.1.md": changelog("shared", "v0.1.1"), frozenAt("v0.1.1"): gang}),
			"it needs shared v0.1.0, but shared has changed since"},
		"a module that is never released": {
			nextGrouper(edit{"podgrouper/go.mod": small["podgrouper/go.mod"] + "\nrequire packtree.dev/e2e v0.0.0\n"}),
			"it requires packtree.dev/e2e, which is never released"},
		"a replaced stranger": {
			nextGrouper(
				edit{"podgrouper/go.mod": small["podgrouper/go.mod"] +
					"\nreplace example.com/a => example.com/b v1.0.0\n"}),
			"it replaces example.com/a, which users of this module do not see"},
		"a version below the last": {
			edit{"shared/CHANGELOG/v0.0.9.md": changelog("shared", "v0.0.9"), frozenAt("v0.0.9"): gang},
			"shared/CHANGELOG/v0.0.9.md: v0.1.0 is tagged already: versions only grow",
		},
		"a candidate of a version that is": {
			edit{"shared/CHANGELOG/v0.1.0-rc.1.md": changelog("shared", "v0.1.0-rc.1"), frozenAt("v0.1.0-rc.1"): gang},
			"v0.1.0 is tagged already",
		},
		"a second major version": {
			edit{"shared/CHANGELOG/v2.0.0.md": changelog("shared", "v2.0.0"), frozenAt("v2.0.0"): gang},
			"module packtree.dev/shared cannot have version v2.0.0",
		},
		"two versions of one commit": {
			edit{"shared/CHANGELOG/v0.2.0.md": changelog("shared", "v0.2.0"), frozenAt("v0.2.0"): gang,
				"shared/CHANGELOG/v0.10.0.md": changelog("shared", "v0.10.0"), frozenAt("v0.10.0"): gang},
			"shared/CHANGELOG/v0.10.0.md: v0.2.0 is not tagged yet"},
		"a file of no version": {edit{"shared/CHANGELOG/next.md": "soon\n"},
			"shared/CHANGELOG/next.md: files of a CHANGELOG are named vX.Y.Z.md"},
		"a file of half a version": {edit{"shared/CHANGELOG/v0.2.md": "soon\n"},
			"shared/CHANGELOG/v0.2.md: files of a CHANGELOG are named vX.Y.Z.md"},
		"a title alone": {edit{"shared/CHANGELOG/v0.2.0.md": "# shared v0.2.0\n\n"},
			"nothing says what the release is about"},
		"that of another version": {edit{"shared/CHANGELOG/v0.2.0.md": "# shared v0.3.0\n\nFaster.\n"},
			"write \"# shared v0.2.0\" into the first line"},
		"that of another module": {edit{"shared/CHANGELOG/v0.2.0.md": "# podgrouper v0.2.0\n\nFaster.\n"},
			"write \"# shared v0.2.0\" into the first line"},
		"a text that says nothing": {edit{"shared/CHANGELOG/v0.2.0.md": "soon\n"},
			"write \"# shared v0.2.0\" into the first line"},
		"a chart of another version": {
			nextGrouper(edit{"charts/podgrouper/Chart.yaml": "version: 0.1.0\nappVersion: \"0.2.0\"\n"}),
			`charts/podgrouper/Chart.yaml: version is "0.1.0", and the release is "0.2.0": set it`},
		"a chart that asks for another image": {
			nextGrouper(edit{"charts/podgrouper/Chart.yaml": "version: 0.2.0\nappVersion: \"0.1.0\"\n"}),
			`charts/podgrouper/Chart.yaml: appVersion is "0.1.0"`},
		"a chart that is held at another version": {
			nextGrouper(edit{"charts/packtree/Chart.yaml": small["charts/packtree/Chart.yaml"] + "# touched\n"}),
			"charts/packtree/Chart.yaml: dependency podgrouper is 0.1.0, and the release is 0.2.0: set it"},
		"kinds of which nothing is kept": {edit{"shared/CHANGELOG/v0.2.0.md": changelog("shared", "v0.2.0")},
			"e2e/compatibility/testdata/v0.2.0/crds: nothing is kept of this version for the tests of later ones: " +
				"run 'make freeze RELEASE=v0.2.0'"},
		"kinds that are not those that are kept": {
			edit{"shared/CHANGELOG/v0.2.0.md": changelog("shared", "v0.2.0"), frozenAt("v0.2.0"): "kind: Other\n"},
			"e2e/compatibility/testdata/v0.2.0/crds: gang.yaml not as in shared/api/crds: " +
				"run 'make freeze RELEASE=v0.2.0' again"},
		"a kind that is kept and is no more": {
			edit{"shared/CHANGELOG/v0.2.0.md": changelog("shared", "v0.2.0"), frozenAt("v0.2.0"): gang,
				strings.Replace(frozenAt("v0.2.0"), "gang", "old", 1): gang}, "old.yaml not as in shared/api/crds"},
		"a chart that holds what is not released": {
			edit{"charts/packtree/CHANGELOG/v0.2.0.md": changelog("packtree", "v0.2.0"),
				"charts/packtree/Chart.yaml": "version: 0.2.0\nappVersion: \"0.2.0\"\ndependencies: [{name: podgrouper, " +
					"version: 0.3.0}]\n"},
			"charts/packtree/Chart.yaml: it needs podgrouper v0.3.0, which is not released: name the last tag, v0.1.0"},
		"a chart that holds what has changed": {edit{"charts/packtree/CHANGELOG/v0.2.0.md": changelog(
			"packtree", "v0.2.0"),
			"charts/packtree/Chart.yaml": "version: 0.2.0\nappVersion: \"0.2.0\"\ndependencies: [{name: podgrouper, " +
				"version: 0.1.0}]\n",
			"charts/podgrouper/values.yaml": "replicas: 2\n"},
			"it needs podgrouper v0.1.0, but charts/podgrouper has changed since, in charts/podgrouper/values.yaml: " +
				"release podgrouper first"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := repository(t, allTags, test.edit).Plan(t.Context(), "", "", false)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestTheLastVersionIsTheGreatest(t *testing.T) {
	_, err := repository(t, []string{"shared/v0.9.0", "shared/v0.10.0", "shared/v0.1.0"},
		edit{"shared/CHANGELOG/v0.9.1.md": changelog("shared", "v0.9.1"), frozenAt("v0.9.1"): gang}).
		Plan(t.Context(), "shared", "", false)
	assert.ErrorContains(t, err, "v0.10.0 is tagged already")
}

func TestAllRefusalsAreReportedAtOnce(t *testing.T) {
	_, err := repository(t, allTags, nextGrouper(edit{
		"podgrouper/go.mod": requiring("v0.0.0"), "charts/podgrouper/Chart.yaml": "version: 0.1.0\n",
		"podgrouper/CHANGELOG/v0.2.0.md": "soon\n",
	})).Plan(t.Context(), "", "", false)
	if err == nil || len(strings.Split(err.Error(), "\n")) != 4 {
		t.Errorf("error %v, want a line for each of go.mod, version, appVersion and the text", err)
	}
}

func TestOneTrainCanBeAskedForAlone(t *testing.T) {
	fresh := repository(t, nil)
	plan, err := fresh.Plan(t.Context(), "podgrouper", "", false)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff([]string{"podgrouper/v0.1.0"}, tagsOf(plan.Releases)), "releases (-want +got)")
	if _, err := fresh.Plan(t.Context(), "podgrouper", "", true); err == nil ||
		!strings.Contains(err.Error(), "needs shared v0.1.0, which is not released") {
		t.Errorf("alone, without the library that is not tagged yet: error %v", err)
	}
	if _, err := fresh.Plan(t.Context(), "e2e", "", false); err == nil ||
		!strings.Contains(err.Error(), `nothing named "e2e" is released: there are packtree, podgrouper, shared`) {
		t.Errorf("a name that nothing has: error %v", err)
	}
}

func TestACheckoutThatIsNotACommitIsRefused(t *testing.T) {
	changed := repository(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(changed.Root, "new"), nil, 0o600))
	if _, err := changed.Plan(t.Context(), "", "", false); err == nil ||
		!strings.Contains(err.Error(), "the checkout has changes") {
		t.Errorf("changes: error %v", err)
	}
	shallow := release.Repository{Root: filepath.Join(t.TempDir(), "shallow")}
	git(t, t.TempDir(), "clone", "-q", "--depth=1", "file://"+repository(t, allTags, edit{"new": "new\n"}).Root,
		shallow.Root)
	if _, err := shallow.Plan(t.Context(), "", "", false); err == nil ||
		!strings.Contains(err.Error(), "git fetch --unshallow --tags") {
		t.Errorf("no history: error %v", err)
	}
}

func tagsOf(releases []release.Release) []string {
	var tags []string
	for _, one := range releases {
		tags = append(tags, one.Tag())
	}
	return tags
}
