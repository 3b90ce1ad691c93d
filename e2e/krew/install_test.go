package krew_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"packtree.dev/e2e/krew"
)

// krewTools builds Krew, and the validation of its index, from the modules that e2e/tools/krew pins.
func krewTools(t *testing.T) string {
	t.Helper()
	built := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", built+string(filepath.Separator), "tool")
	build.Dir = filepath.Join("..", "tools", "krew")
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building Krew: %v\n%s", err, said)
	}
	return built
}

// run calls a program without a user's settings.
func run(t *testing.T, program string, environment []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(environment, "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"))
	said, err := command.CombinedOutput()
	return string(said), err
}

// TestKrewTakesWhatAReleaseMakes validates the manifest with Krew's own validation, and installs each archive with
// Krew.
func TestKrewTakesWhatAReleaseMakes(t *testing.T) {
	tools, directory := krewTools(t), t.TempDir()
	made := ours(t)
	if err := made.Write(directory); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(directory, "packtree.yaml")
	validate := filepath.Join(tools, "validate-krew-manifest")
	if said, err := run(t, validate, nil, "-skip-install", "-manifest", manifest); err != nil {
		t.Errorf("Krew's validation: %v\n%s", err, said)
	}
	for _, build := range made.Builds {
		t.Run(build.OS+"/"+build.Arch, func(t *testing.T) {
			root := t.TempDir()
			archive := filepath.Join(directory, "kubectl-packtree-"+build.OS+"-"+build.Arch+".tar.gz")
			environment := []string{"KREW_ROOT=" + root, "KREW_OS=" + build.OS, "KREW_ARCH=" + build.Arch,
				"KREW_NO_UPGRADE_CHECK=1"}
			said, err := run(t, filepath.Join(tools, "krew"), environment, "install", "--manifest", manifest,
				"--archive", archive)
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			want, err := os.ReadFile(build.File)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(root, "bin", "kubectl-packtree"))
			if err != nil || string(got) != string(want) {
				t.Errorf("kubectl would find %q, error %v", got, err)
			}
			files, err := os.ReadDir(filepath.Join(root, "store", "packtree", made.Version))
			licensed := slices.ContainsFunc(files, func(file os.DirEntry) bool { return file.Name() == "LICENSE" })
			if err != nil || !licensed {
				t.Errorf("there is no license among %v, error %v", files, err)
			}
		})
	}
}

// Check may be stricter than Krew's validation, but not more tolerant.
func TestKrewTurnsDownWhatCheckDoes(t *testing.T) {
	tools := krewTools(t)
	for name, change := range map[string][2]string{
		"no version":   {"version: v0.1.0", "version: 0.1"},
		"no checksum":  {"sha256: ", "sha256: x"},
		"another kind": {"kind: Plugin", "kind: Plug"},
		"another version of its own": {"krew.googlecontainertools.github.com/v1alpha2",
			"krew.googlecontainertools.github.com/v9"},
		"no program": {"bin: kubectl-packtree", "bin: \"\""},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			if err := ours(t).Write(directory); err != nil {
				t.Fatal(err)
			}
			manifest := filepath.Join(directory, "packtree.yaml")
			content, err := os.ReadFile(manifest)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(content), change[0], change[1], 1)
			if changed == string(content) {
				t.Fatalf("the manifest has no %q", change[0])
			}
			if err := os.WriteFile(manifest, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			read, err := krew.Read(manifest)
			if err == nil {
				err = read.Check()
			}
			said, refused := run(t, filepath.Join(tools, "validate-krew-manifest"), nil, "-skip-install",
				"-manifest", manifest)
			if err == nil || refused == nil {
				t.Errorf("Check says %v, and Krew %v: %s", err, refused, said)
			}
		})
	}
}
