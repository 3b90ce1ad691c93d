package release_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"packtree.dev/e2e/release"
)

func TestAModuleThatWorksByItselfIsBuiltAndTested(t *testing.T) {
	if printed, err := buildGrouper(t, repository(t, nil)); err != nil ||
		!strings.Contains(printed, "ok  \tpacktree.dev/podgrouper/words") {
		t.Errorf("along with its library: %v\n%s", err, printed)
	}
	if printed, err := buildGrouper(t, repository(t, allTags, nextGrouper(nil))); err != nil {
		t.Errorf("with the library of a tag: %v\n%s", err, printed)
	}
}

func TestWhatWorksByItsSurroundingsAloneIsNotReleased(t *testing.T) {
	for name, test := range map[string]struct {
		edit edit
		want string
	}{
		"a requirement that only go.work knows": {edit{
			"podgrouper/go.mod": "module packtree.dev/podgrouper\n\ngo 1.26.0\n"},
			"GOWORK=off go vet ./... in podgrouper"},
		"a test that fails": {edit{
			"podgrouper/words/words_test.go": strings.Replace(small["podgrouper/words/words_test.go"], `First == ""`,
				`First != ""`, 1)}, "GOWORK=off go test -timeout 30m ./... in podgrouper"},
		"a requirement of tests that only go.work knows": {edit{
			"podgrouper/go.mod": "module packtree.dev/podgrouper\n\ngo 1.26.0\n",
			"podgrouper/words/words.go": "// Package words has words.\npackage words\n\n// First is the first " +
				"word.\nconst First = \"hello\"\n",
			"podgrouper/words/words_test.go": "package words\n\nimport \"packtree.dev/shared/greet\"\n\nconst _ = " +
				"greet.Hello\n"}, "GOWORK=off go vet ./... in podgrouper"},
		"a call that vet refuses": {edit{
			"podgrouper/words/wrong.go": "package words\n\nimport \"fmt\"\n\nfunc wrong() string { return " +
				"fmt.Sprintf(\"%d\", \"a\") }\n"}, "GOWORK=off go vet ./... in podgrouper"},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := buildGrouper(t, repository(t, allTags, nextGrouper(test.edit)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q\n%s", err, test.want, printed)
			}
		})
	}
}

func buildGrouper(t *testing.T, checkout release.Repository) (printed string, err error) {
	t.Helper()
	plan, err := checkout.Plan(t.Context(), "podgrouper", "", false)
	require.NoError(t, err)
	if len(plan.Releases) != 1 {
		t.Fatalf("releases %v, want that of podgrouper", tagsOf(plan.Releases))
	}
	var output bytes.Buffer
	err = checkout.BuildAndTest(t.Context(), plan.Releases[0], &output)
	return output.String(), err
}

// A user of the component as a module builds what a module proxy makes from the tags, without the component's replace
// lines.
func TestOthersBuildWhatIsTagged(t *testing.T) {
	for name, test := range map[string]struct {
		require string
		builds  bool
	}{
		"a sibling at its tag":        {"v0.1.0", true},
		"a sibling of no version":     {"v0.0.0", false},
		"a sibling of a time to come": {"v0.2.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			checkout := repository(t, nil, edit{"podgrouper/go.mod": requiring(test.require)})
			_, err := checkout.Plan(t.Context(), "", "", false)
			if (err == nil) != test.builds {
				t.Errorf("the check says %v, want it to let pass what others can build: %v", err, test.builds)
			}
			printed, err := buildElsewhere(t, proxyOf(t, checkout))
			if (err == nil) != test.builds {
				t.Errorf("others can build it: %v, want %v\n%s", err == nil, test.builds, printed)
			}
		})
	}
}

// proxyOf is the directory of a module proxy with version v0.1.0 of both modules.
func proxyOf(t *testing.T, checkout release.Repository) string {
	t.Helper()
	proxy := t.TempDir()
	for _, name := range []string{"shared", "podgrouper"} {
		versions := filepath.Join(proxy, "packtree.dev", name, "@v")
		goMod, err := os.ReadFile(filepath.Join(checkout.Root, name, "go.mod"))
		require.NoError(t, err)
		write(t, versions, map[string]string{"list": "v0.1.0\n", "v0.1.0.info": `{"Version":"v0.1.0"}`,
			"v0.1.0.mod": string(goMod)})
		archive, err := os.Create(filepath.Join(versions, "v0.1.0.zip"))
		require.NoError(t, err)
		require.NoError(t, zip.CreateFromVCS(archive, module.Version{Path: "packtree.dev/" + name, Version: "v0.1.0"},
			checkout.Root,
			"HEAD", name))
		require.NoError(t, archive.Close())
	}
	return proxy
}

func buildElsewhere(t *testing.T, proxy string) (string, error) {
	t.Helper()
	elsewhere := t.TempDir()
	write(t, elsewhere, map[string]string{
		"go.mod":  "module example.com/other\n\ngo 1.26.0\n\nrequire packtree.dev/podgrouper v0.1.0\n",
		"main.go": "package main\n\nimport \"packtree.dev/podgrouper/words\"\n\nfunc main() { println(words.First) }\n",
	})
	command := exec.Command("go", "build", "-mod=mod", "-modcacherw", "-o", os.DevNull, ".")
	command.Dir = elsewhere
	command.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=file://"+proxy, "GONOSUMDB=packtree.dev", "GOFLAGS=",
		"GOMODCACHE="+t.TempDir(), "PWD="+elsewhere)
	printed, err := command.CombinedOutput()
	return string(printed), err
}
