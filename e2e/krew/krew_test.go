package krew_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/e2e/krew"
)

// another is a time at which a program might have been built again.
var another = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const downloads = "https://example.com/releases/download/kai-topology-plugin/v0.1.0"

// ours is the present release of the plugin, with small programs.
func ours(t *testing.T) krew.Release {
	t.Helper()
	root := filepath.Join("..", "..")
	about, err := krew.Read(filepath.Join(root, "kai-topology-plugin", "krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	made := krew.Release{About: about, Version: "v0.1.0", Downloads: downloads, License: filepath.Join(root, "LICENSE")}
	for _, system := range []string{"linux", "darwin"} {
		for _, architecture := range []string{"amd64", "arm64"} {
			file := filepath.Join(t.TempDir(), "kai-topology-plugin")
			if err := os.WriteFile(file, []byte(system+" on "+architecture), 0o600); err != nil {
				t.Fatal(err)
			}
			made.Builds = append(made.Builds, krew.Build{OS: system, Arch: architecture, File: file})
		}
	}
	return made
}

// file is one of an archive.
type file struct {
	name, content string
	mode          int64
}

func unpack(t *testing.T, packed []byte) (files []file) {
	t.Helper()
	uncompressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(uncompressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{header.Name, string(content), header.Mode})
	}
}

func TestAManifestNamesEachArchiveByItsChecksum(t *testing.T) {
	release, directory := ours(t), filepath.Join(t.TempDir(), "krew")
	if err := release.Write(directory); err != nil {
		t.Fatal(err)
	}
	manifest, err := krew.Read(filepath.Join(directory, "packtree.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.Check(); err != nil || manifest.Spec.Version != "v0.1.0" {
		t.Errorf("version %s; %v", manifest.Spec.Version, err)
	}
	license, err := os.ReadFile(release.License)
	if err != nil {
		t.Fatal(err)
	}
	var systems []string
	for _, platform := range manifest.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		systems = append(systems, labels["os"]+"/"+labels["arch"])
		name, below := strings.CutPrefix(platform.URI, downloads+"/")
		packed, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil || !below {
			t.Fatalf("%s: %v", platform.URI, err)
		}
		if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != platform.Sha256 {
			t.Errorf("%s has checksum %x, the manifest says %s", name, sum, platform.Sha256)
		}
		want := []file{{platform.Bin, labels["os"] + " on " + labels["arch"], 0o755},
			{"LICENSE", string(license), 0o644}}
		if diff := cmp.Diff(want, unpack(t, packed), cmp.AllowUnexported(file{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if platform.Bin != "kubectl-packtree" {
			t.Errorf("kubectl looks for kubectl-packtree, not %s", platform.Bin)
		}
	}
	if want := []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}; !cmp.Equal(want, systems) {
		t.Errorf("systems %q, want %q", systems, want)
	}
	there, err := os.ReadDir(directory)
	if err != nil || len(there) != len(systems)+1 {
		t.Errorf("%d files, error %v", len(there), err)
	}
}

func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	release, first, second := ours(t), t.TempDir(), t.TempDir()
	for _, directory := range []string{first, second} {
		if err := release.Write(directory); err != nil {
			t.Fatal(err)
		}
		for _, build := range release.Builds {
			if err := os.Chtimes(build.File, another, another); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"packtree.yaml", "kubectl-packtree-darwin-arm64.tar.gz"} {
		before, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(second, name))
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s has changed, error %v", name, err)
		}
	}
}

func TestWhatIsMissingMakesNoManifest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*krew.Release)
		want   string
	}{
		"a program":         {func(r *krew.Release) { r.Builds[2].File += "x" }, "packing the plugin for darwin/amd64"},
		"the license":       {func(r *krew.Release) { r.License = "nowhere" }, "nowhere"},
		"a version":         {func(r *krew.Release) { r.Version = "0.1.0" }, `spec.version: "0.1.0" is not vX.Y.Z`},
		"half a version":    {func(r *krew.Release) { r.Version = "v0.1" }, `spec.version: "v0.1" is not vX.Y.Z`},
		"where to fetch it": {func(r *krew.Release) { r.Downloads = "" }, "spec.platforms[0].uri"},
		"http alone":        {func(r *krew.Release) { r.Downloads = "http://example.com" }, "is no https address"},
		"all programs":      {func(r *krew.Release) { r.Builds = nil }, "spec.platforms: there is none"},
		"a system": {func(r *krew.Release) { r.Builds[0].OS = "" },
			"spec.platforms[0].selector: needs the labels"},
		"another system": {func(r *krew.Release) { r.Builds[1] = r.Builds[0] },
			"spec.platforms[1].selector: linux/amd64 is there already"},
		"a name":       {func(r *krew.Release) { r.About.Metadata.Name = "Tree" }, "metadata.name: "},
		"another kind": {func(r *krew.Release) { r.About.Kind = "Plugins" }, "kind: "},
		"another API":  {func(r *krew.Release) { r.About.APIVersion = "v1" }, "apiVersion: "},
		"what it is":   {func(r *krew.Release) { r.About.Spec.ShortDescription = "" }, "spec.shortDescription: "},
		"one line": {func(r *krew.Release) { r.About.Spec.ShortDescription = "a\nb" },
			"spec.shortDescription: "},
		"a short line": {func(r *krew.Release) { r.About.Spec.ShortDescription = strings.Repeat("a", 51) },
			"at most 50 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			release, directory := ours(t), filepath.Join(t.TempDir(), "krew")
			c.change(&release)
			if err := release.Write(directory); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			manifests, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
			if err != nil || len(manifests) > 0 {
				t.Errorf("there are manifests: %q, error %v", manifests, err)
			}
		})
	}
}

func TestAManifestHasNoFieldThatKrewDoesNotKnow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "krew.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nspec: {about: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := krew.Read(file); err == nil {
		t.Error("it was read")
	}
}
