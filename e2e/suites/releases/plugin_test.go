package releases

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"packtree.dev/e2e/krew"
)

// plugin is the script of a checkout in which go and gh record their calls; without gh if that is empty.
func plugin(t *testing.T, gh string, set ...string) script {
	t.Helper()
	made := images(t, checkOut(t, "here"), "", append([]string{"DOWNLOADS=", "RELEASE=", "NOTES="}, set...)...)
	remove, err := exec.LookPath("rm")
	if err == nil {
		err = os.Symlink(remove, filepath.Join(made.tools, "rm"))
	}
	if err == nil {
		err = os.Remove(filepath.Join(made.tools, "go")) // Else what is written in its place would be written into go itself.
	}
	if err != nil {
		t.Fatal(err)
	}
	made.has(t, "go", `echo "$GOOS/$GOARCH: go $@"`)
	made.has(t, "gh", gh)
	charts := filepath.Join(made.checkout, "charts", "kai-topology-plugin")
	module := filepath.Join(made.checkout, "kai-topology-plugin")
	for _, directory := range []string{charts, module} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for file, content := range map[string]string{
		filepath.Join(charts, "Chart.yaml"): "appVersion: \"0.3.0\"\n",
		filepath.Join(module, "go.mod"):     "\tk8s.io/kubernetes v1.36.3\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

func TestThePluginIsTheSchedulersProgramForFourSystems(t *testing.T) {
	const downloads = "DOWNLOADS=https://example.com/files"
	for name, test := range map[string]struct {
		set     []string
		systems []string
		version string
	}{
		"as its chart says": {[]string{downloads}, []string{"linux/amd64", "linux/arm64", "darwin/amd64",
			"darwin/arm64"}, "v0.3.0"},
		"as a release says": {[]string{downloads, "VERSION=v0.4.0", "PLATFORMS=darwin/arm64"}, []string{"darwin/arm64"},
			"v0.4.0"},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := plugin(t, "", test.set...).run("plugin")
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			var builds []string
			for _, system := range test.systems {
				file := "dist/" + strings.ReplaceAll(system, "/", "-") + "/kubectl-packtree"
				builds = append(builds, system+"="+file)
				built := strings.Contains(printed, system+": go -C kai-topology-plugin build ") &&
					strings.Contains(printed, "version.version="+test.version+" ") &&
					strings.Contains(printed, file+" ./cmd/kubectl-packtree\n")
				if !built {
					t.Errorf("it is not built for %s:\n%s", system, printed)
				}
			}
			want := "go run ./e2e/cmd/krew --about kai-topology-plugin/krew.yaml --version " + test.version +
				" --downloads https://example.com/files -o dist/krew " + strings.Join(builds, " ") + "\n"
			if !strings.Contains(printed, want) || strings.Count(printed, " build ") != len(builds) {
				t.Errorf("printed %q, want %q", printed, want)
			}
		})
	}
	printed, err := plugin(t, "").run("plugin")
	if err == nil || !strings.Contains(printed, "plugin needs DOWNLOADS") || strings.Contains(printed, " build ") {
		t.Errorf("without a place to fetch it from: %v, %s", err, printed)
	}
}

func TestADraftHoldsThePluginOnce(t *testing.T) {
	const create = "gh release create kai-topology-plugin/v0.4.0 --draft --target "
	asked := []string{"RELEASE=kai-topology-plugin/v0.4.0", "NOTES=notes.md"}
	// gh returns the tested state of a release, and otherwise prints its call.
	gh := func(view string) string { return "if [ \"$2\" = view ]; then " + view + "; else echo gh \"$@\"; fi" }
	for name, test := range map[string]struct {
		gh      string
		set     []string
		want    string
		deletes bool
		fails   bool
	}{
		"the first time":            {gh("exit 1"), asked, create, false, false},
		"after a run that failed":   {gh("echo true"), asked, create, true, false},
		"what is published is kept": {gh("echo false"), asked, create, false, false},
		"without gh":                {"", asked, "gh is missing", false, true},
		"without a tag":             {gh("exit 1"), nil, "draft needs RELEASE", false, true},
		"what GitHub turns down":    {"exit 3", asked, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			drafting := plugin(t, test.gh, test.set...)
			directory := filepath.Join(drafting.checkout, "dist", "krew")
			if err := os.MkdirAll(directory, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(directory, "packtree.yaml"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			printed, err := drafting.run("draft")
			if (err != nil) != test.fails || !strings.Contains(printed, test.want) {
				t.Errorf("error %v and %q, want %q", err, printed, test.want)
			}
			if strings.Contains(printed, "gh release delete") != test.deletes {
				t.Errorf("it deletes a release: %v, want %v", !test.deletes, test.deletes)
			}
			if !test.fails && !strings.HasSuffix(printed,
				"--title kai-topology-plugin/v0.4.0 --notes-file notes.md dist/krew/packtree.yaml\n") {
				t.Errorf("it does not hold the files: %q", printed)
			}
		})
	}
}

// Version and platforms would be those of an old release.
func TestThePluginIsCalledAsKubectlFindsIt(t *testing.T) {
	about, err := krew.Read(filepath.Join(repository, "kai-topology-plugin", "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if name := about.Metadata.Name; name != "packtree" || about.Spec.Version != "" || about.Spec.Platforms != nil {
		t.Errorf("the manifest is of %q, version %q; version and platforms come from the release", name,
			about.Spec.Version)
	}
}
