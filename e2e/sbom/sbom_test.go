package sbom_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/e2e/sbom"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.FixedZone("", 3600))

// info is that of a program with two modules, one of which is replaced by another.
func info() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.0", Path: "example.com/p/cmd/p", Main: debug.Module{Path: "example.com/p",
			Version: "v1.0.0"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v0.1.0"},
			{Path: "example.com/b", Version: "v0.2.0", Replace: &debug.Module{Path: "example.com/fork",
				Version: "v0.2.1"}},
			{Path: "example.com/sibling", Version: "v0.3.0", Replace: &debug.Module{Path: "../sibling"}},
		},
	}
}

// listed are the packages of a document and their dependencies, by name.
func listed(made sbom.Document) (packages, relationships []string) {
	names := map[string]string{made.ID: "document"}
	for _, one := range made.Packages {
		names[one.ID] = one.Name
		packages = append(packages, one.References[0].Locator)
	}
	for _, one := range made.Relationships {
		relationships = append(relationships, names[one.From]+" "+one.Type+" "+names[one.To])
	}
	return packages, relationships
}

func sorted(words []string) map[string]int {
	counted := map[string]int{}
	for _, word := range words {
		counted[word]++
	}
	return counted
}

func TestADocumentHasEachModuleOnce(t *testing.T) {
	other := info()
	other.Main, other.Deps = debug.Module{Path: "example.com/q", Version: "(devel)"}, other.Deps[:1]
	made := sbom.Describe("image", []sbom.Program{{Path: "/p", Info: info()}, {Path: "/q", Info: other}}, noon)
	packages, relationships := listed(made)
	want := []string{
		"pkg:golang/example.com/p@v1.0.0", "pkg:golang/example.com/q", "pkg:golang/example.com/a@v0.1.0",
		"pkg:golang/example.com/fork@v0.2.1",
		"pkg:golang/example.com/sibling@v0.3.0", "pkg:golang/stdlib@go1.26.0",
	}
	if diff := cmp.Diff(sorted(want), sorted(packages)); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	want = []string{
		"document DESCRIBES example.com/p", "document DESCRIBES example.com/q", "example.com/p DEPENDS_ON stdlib",
		"example.com/q DEPENDS_ON stdlib",
		"example.com/p DEPENDS_ON example.com/a", "example.com/p DEPENDS_ON example.com/fork",
		"example.com/p DEPENDS_ON example.com/sibling",
		"example.com/q DEPENDS_ON example.com/a",
	}
	if diff := cmp.Diff(sorted(want), sorted(relationships)); diff != "" {
		t.Errorf("relationships (-want +got):\n%s", diff)
	}
	if made.Creation.Created != "2026-11-23T11:00:00Z" {
		t.Errorf("created %s, want the time in UTC", made.Creation.Created)
	}
	if diff := cmp.Diff(made,
		sbom.Describe("image", []sbom.Program{{Path: "/p", Info: info()}, {Path: "/q", Info: other}},
			noon)); diff != "" {
		t.Errorf("the same programs give another document:\n%s", diff)
	}
}

func TestProgramsOfOtherModulesHaveOtherNamespaces(t *testing.T) {
	other := info()
	other.Deps[0].Version = "v0.1.1"
	one := sbom.Describe("image", []sbom.Program{{Path: "/p", Info: info()}}, noon)
	two := sbom.Describe("image", []sbom.Program{{Path: "/p", Info: other}}, noon)
	if one.Namespace == two.Namespace {
		t.Errorf("both documents are %s", one.Namespace)
	}
}

func TestAScanWritesWhatBuildKitTakes(t *testing.T) {
	image, destination := t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(image, "images"), "packtree.dev/e2e/cmd/images")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if err := os.WriteFile(filepath.Join(image, "passwd"), []byte("nobody"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"BUILDKIT_SCAN_SOURCE": image, "BUILDKIT_SCAN_DESTINATION": destination}
	if err := sbom.Scan(func(name string) string { return environment[name] }, noon); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(filepath.Join(destination, filepath.Base(image)+".spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string
		Predicate     sbom.Document
	}
	if err := json.Unmarshal(written, &statement); err != nil {
		t.Fatal(err)
	}
	if statement.Type != "https://in-toto.io/Statement/v0.1" || statement.PredicateType != "https://spdx.dev/Document" {
		t.Errorf("the statement is %s of %s", statement.Type, statement.PredicateType)
	}
	packages, _ := listed(statement.Predicate)
	all := strings.Join(packages, "\n")
	for _, want := range []string{"pkg:golang/stdlib@" + runtime.Version(),
		"pkg:golang/github.com/google/go-containerregistry@v", "pkg:golang/packtree.dev/e2e"} {
		if !strings.Contains(all, want) {
			t.Errorf("the packages lack %s:\n%s", want, all)
		}
	}
}

func TestWhatAScanLacksIsSaid(t *testing.T) {
	for claim, test := range map[string]struct {
		environment map[string]string
		want        string
	}{
		"the folders": {nil, "set BUILDKIT_SCAN_SOURCE"},
		"a program": {map[string]string{"BUILDKIT_SCAN_SOURCE": t.TempDir(), "BUILDKIT_SCAN_DESTINATION": t.TempDir()},
			"has no Go program"},
		"a folder": {map[string]string{"BUILDKIT_SCAN_SOURCE": "/nowhere/at/all",
			"BUILDKIT_SCAN_DESTINATION": t.TempDir()}, "no such file"},
		"a place for it": {map[string]string{"BUILDKIT_SCAN_SOURCE": filepath.Dir(os.Args[0]),
			"BUILDKIT_SCAN_DESTINATION": "/nowhere/at/all"}, "no such file"},
	} {
		t.Run(claim, func(t *testing.T) {
			err := sbom.Scan(func(name string) string { return test.environment[name] }, noon)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
