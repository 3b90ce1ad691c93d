package release_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/release"
)

// small is a repository like this one: a library, a component that requires it, and a chart that contains the
// component's.
var small = map[string]string{
	frozenAt("v0.1.0"): gang,

	"LICENSE":       "free\n",
	".gitignore":    "/dist/\n",
	"go.work":       "go 1.26.0\n\nuse (\n\t./podgrouper\n\t./shared\n)\n",
	"shared/go.mod": "module packtree.dev/shared\n\ngo 1.26.0\n",
	"shared/greet/greet.go": "// Package greet greets.\npackage greet\n\n// Hello is a greeting.\nconst Hello = " +
		"\"hello\"\n",
	"shared/api/crds/gang.yaml": gang,

	"podgrouper/go.mod": "module packtree.dev/podgrouper\n\ngo 1.26.0\n\nrequire " +
		"packtree.dev/shared v0.1.0\n\nreplace packtree.dev/shared => ../shared\n",
	"podgrouper/words/words.go": "// Package words has words.\npackage words\n\nimport " +
		"\"packtree.dev/shared/greet\"\n\n// First is the first word.\nconst First = greet.Hello\n",
	"podgrouper/words/words_test.go": "package words\n\nimport \"testing\"\n\nfunc TestFirst(t *testing.T) " +
		"{\n\tif First == \"\" {\n\t\tt.Error(\"no word\")\n\t}\n}\n",
	"podgrouper/Dockerfile":         "FROM scratch\n",
	"podgrouper/later.Dockerfile":   "FROM scratch\n",
	"charts/podgrouper/Chart.yaml":  "apiVersion: v2\nname: podgrouper\nversion: 0.1.0\nappVersion: \"0.1.0\"\n",
	"charts/podgrouper/values.yaml": "replicas: 1\n",
	"charts/packtree/Chart.yaml": "apiVersion: v2\nname: packtree\nversion: 0.1.0\nappVersion: " +
		"\"0.1.0\"\ndependencies:\n  - name: podgrouper\n    version: 0.1.0\n",
	"shared/CHANGELOG/v0.1.0.md":          changelog("shared", "v0.1.0"),
	"podgrouper/CHANGELOG/v0.1.0.md":      changelog("podgrouper", "v0.1.0"),
	"charts/packtree/CHANGELOG/v0.1.0.md": changelog("packtree", "v0.1.0"),
}

const gang = "kind: CustomResourceDefinition\n"

func frozenAt(version string) string {
	return "e2e/compatibility/testdata/" + version + "/crds/gang.yaml"
}

func changelog(name, version string) string {
	return "# " + name + " " + version + "\n\nWhat it is about.\n\n## Added\n\n- A thing.\n"
}

// edit lays files over a repository and commits them; an empty content removes the file.
type edit map[string]string

// repository makes a commit of the small repository and one for each edit. Tags are put on the last but one commit: the
// files of the last edit have changed since.
func repository(t *testing.T, tags []string, edits ...edit) release.Repository {
	t.Helper()
	root := t.TempDir()
	git(t, root, "init", "-q", "--initial-branch=main")
	write(t, root, small)
	commit(t, root)
	for i, files := range edits {
		if i == len(edits)-1 {
			tag(t, root, tags)
		}
		write(t, root, files)
		commit(t, root)
	}
	if len(edits) == 0 {
		tag(t, root, tags)
	}
	return release.Repository{Root: root}
}

func tag(t *testing.T, root string, tags []string) {
	t.Helper()
	for _, name := range tags {
		git(t, root, "tag", name)
	}
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name := range maps.Keys(files) {
		file := filepath.Join(root, name)
		if files[name] == "" {
			require.NoError(t, os.Remove(file))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(files[name], "#!") {
			mode = 0o755
		}
		require.NoError(t, os.WriteFile(file, []byte(files[name]), mode))
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "--all")
	git(t, root, "-c", "commit.gpgsign=false", "commit", "-qm", "all", "--allow-empty")
}

func git(t *testing.T, directory string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", arguments...)
	command.Dir = directory
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, printed)
	}
	return strings.TrimSpace(string(printed))
}

// The tests' git uses no settings of a user.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_AUTHOR_NAME": "a",
		"GIT_AUTHOR_EMAIL":   "a@example.com",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
