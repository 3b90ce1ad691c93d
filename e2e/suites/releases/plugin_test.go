package releases

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plugin is the script of a checkout in which go and gh record their calls; without gh if that is empty.
func plugin(t *testing.T, gh string, set ...string) script {
	t.Helper()
	made := images(t, checkOut(t, "here"), "", append([]string{"DOWNLOADS=", "RELEASE=", "NOTES="}, set...)...)
	made.links(t, "cat", "cut", "gzip", "rm", "sha256sum", "tar")
	made.has(t, "gh", gh)
	write(t, made.checkout, "charts/kai-topology-plugin/Chart.yaml", "appVersion: \"0.3.0\"\n")
	write(t, made.checkout, "kai-topology-plugin/krew.yaml", read(t, "kai-topology-plugin/krew.yaml"))
	write(t, made.checkout, "LICENSE", read(t, "LICENSE"))
	return made
}

const downloads = "DOWNLOADS=https://example.com/files"

func TestThePluginIsBuiltForFourSystems(t *testing.T) {
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
			making := plugin(t, "", test.set...)
			printed, err := making.run("plugin")
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			for _, system := range test.systems {
				file := "dist/" + strings.ReplaceAll(system, "/", "-") + "/kubectl-packtree"
				built := strings.Contains(printed, system+": go -C kai-topology-plugin build ") &&
					strings.Contains(printed, "version.version="+test.version+" ") &&
					strings.Contains(printed, file+" ./cmd/kubectl-packtree\n")
				if !built {
					t.Errorf("it is not built for %s:\n%s", system, printed)
				}
			}
			if builds := strings.Count(printed, " build "); builds != len(test.systems) {
				t.Errorf("%d builds, want %d", builds, len(test.systems))
			}
			manifest := making.manifest(t)
			if !strings.Contains(manifest, "\n  version: "+test.version+"\n") {
				t.Errorf("the manifest is not of %s:\n%s", test.version, manifest)
			}
		})
	}
}

func TestWhatThePluginLacksIsSaidBeforeAnythingIsBuilt(t *testing.T) {
	making := plugin(t, "", downloads)
	for name, test := range map[string]struct{ set, want string }{
		"downloads": {"DOWNLOADS=", "plugin needs DOWNLOADS"},
		"https":     {"DOWNLOADS=http://example.com", "plugin needs DOWNLOADS"},
		"a version": {"VERSION=0.1.0", "as vX.Y.Z, not 0.1.0"},
		"all of it": {"VERSION=v0.1", "as vX.Y.Z, not v0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			lacking := making
			lacking.env = append(slices.Clone(making.env), test.set)
			printed, err := lacking.run("plugin")
			if err == nil || !strings.Contains(printed, test.want) {
				t.Errorf("error %v and %q, want %q", err, printed, test.want)
			}
			if _, err := os.Stat(filepath.Join(making.checkout, "dist")); err == nil {
				t.Error("something was built")
			}
		})
	}
}

// manifest is that of the last run.
func (s script) manifest(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.checkout, "dist", "krew", "packtree.yaml"))
	require.NoError(t, err)
	return string(content)
}

// krewTools builds Krew, and the validation of its index, from the modules that e2e/tools/krew pins.
func krewTools(t *testing.T) string {
	t.Helper()
	built := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", built+string(filepath.Separator), "tool")
	build.Dir = filepath.Join(repository, "e2e", "tools", "krew")
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building Krew: %v\n%s", err, said)
	}
	return built
}

// krew calls one of Krew's programs without a user's settings.
func krew(t *testing.T, program string, environment []string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(environment, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"))
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// Krew compares an archive with the checksum of the manifest.
func TestKrewTakesWhatAReleaseMakes(t *testing.T) {
	tools, making := krewTools(t), plugin(t, "", downloads)
	var manifests [2]string
	for i := range manifests {
		if printed, err := making.run("plugin"); err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		manifests[i] = making.manifest(t)
	}
	if manifests[0] != manifests[1] {
		t.Error("the same programs, built a second time, give other archives")
	}
	directory := filepath.Join(making.checkout, "dist", "krew")
	manifest := filepath.Join(directory, "packtree.yaml")
	krew(t, filepath.Join(tools, "validate-krew-manifest"), nil, "-skip-install", "-manifest", manifest)
	for _, system := range []string{"linux", "darwin"} {
		for _, architecture := range []string{"amd64", "arm64"} {
			root := t.TempDir()
			krew(t, filepath.Join(tools, "krew"), []string{"KREW_ROOT=" + root, "KREW_OS=" + system,
				"KREW_ARCH=" + architecture, "KREW_NO_UPGRADE_CHECK=1"}, "install", "--manifest", manifest,
				"--archive", filepath.Join(directory, "kubectl-packtree-"+system+"-"+architecture+".tar.gz"))
			got, err := os.ReadFile(filepath.Join(root, "bin", "kubectl-packtree"))
			if want := system + " on " + architecture + "\n"; err != nil || string(got) != want {
				t.Errorf("kubectl would find %q, error %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(root, "store", "packtree", "v0.3.0", "LICENSE")); err != nil {
				t.Error(err)
			}
		}
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
			require.NoError(t, os.MkdirAll(directory, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(directory, "packtree.yaml"), nil, 0o600))
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
