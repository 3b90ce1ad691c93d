package releases

import (
	"bytes"
	"encoding/pem"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/mod/semver"

	"packtree.dev/e2e/release"
)

// The releases that this commit would make are published into a registry and a remote of the test: the charts by helm,
// the programs of one image for one platform, with a docker that records its calls.
func TestWhatIsPublishedCanBeInstalled(t *testing.T) {
	checkout, remote := cloned(t)
	host := registryHere(t)
	recorded := dockerHere(t)
	t.Setenv("PLATFORMS", "linux/"+runtime.GOARCH)
	for _, train := range trains(t) {
		if train.Name != "grove-operator" && train.Name != "packtree" {
			continue
		}
		if train.Images != nil {
			train.Images = []string{"grove-startup"}
		}
		latest := release.Release{Train: train, Version: slices.MaxFunc(train.Versions, semver.Compare)}
		var printed bytes.Buffer
		if err := checkout.Run(t.Context(), latest, release.Destination{Registry: host +
			"/team", Remote: "origin"}, true,
			&printed); err != nil {
			t.Fatalf("%v\n%s", err, printed.String())
		}
		chart := "oci://" + host + "/team/packtree/charts/" + latest.Name
		rendered, err := exec.Command(helm(t), "template", "packtree", chart, "--version", latest.Number()).Output()
		if err != nil || !bytes.Contains(rendered, []byte("image: \"packtree/grove-operator:"+latest.Number()+`"`)) {
			t.Errorf("what is rendered from the pushed chart names no image of the release: %v\n%.2000s", err, rendered)
		}
		if tags := command(t, remote, "git", "tag", "--list", latest.Tag()); tags != latest.Tag() {
			t.Errorf("the remote has no tag %s", latest.Tag())
		}
	}
	calls, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--output type=image,name=" + host + "/team/packtree/grove-startup:", "--sbom=true"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("docker is not called with %q:\n%s", want, calls)
		}
	}
	program := filepath.Join(checkout.Root, "dist", "linux-"+runtime.GOARCH, "grove-startup")
	if version := command(t, checkout.Root, program, "--version"); !strings.HasPrefix(version,
		"grove-startup version v") {
		t.Errorf("the program in the image calls itself %q, want the version of the release", version)
	}
}

// cloned is a clone of this repository without its tags, which pushes to a remote of its own.
func cloned(t *testing.T) (checkout release.Repository, remote string) {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	checkout.Root, remote = filepath.Join(t.TempDir(), "clone"), t.TempDir()
	command(t, root, "git", "clone", "--quiet", "--shared", "--no-tags", root, checkout.Root)
	command(t, remote, "git", "init", "--quiet", "--bare")
	command(t, checkout.Root, "git", "remote", "set-url", "origin", remote)
	command(t, checkout.Root, "git", "config", "user.name", "a")
	command(t, checkout.Root, "git", "config", "user.email", "a@example.com")
	if err := os.Mkdir(filepath.Join(checkout.Root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(helm(t)), filepath.Join(checkout.Root, "bin", "tools")); err != nil {
		t.Fatal(err)
	}
	return checkout, remote
}

// registryHere starts a registry whose certificate the test's programs trust, and returns its host.
func registryHere(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(t.Output(), "registry: ", 0))))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", authority)
	return strings.TrimPrefix(server.URL, "https://")
}

// dockerHere puts a docker first in PATH, and returns the file in which it records its calls.
func dockerHere(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	calls := filepath.Join(directory, "calls")
	if err := os.WriteFile(filepath.Join(directory, "docker"), []byte("#!/bin/sh\necho \"$@\" >>"+calls+"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", directory+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return calls
}

func helm(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(repository, "bin", "tools", "helm"))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func command(t *testing.T, directory, program string, arguments ...string) string {
	t.Helper()
	call := exec.Command(program, arguments...)
	call.Dir = directory
	printed, err := call.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, arguments, err, printed)
	}
	return strings.TrimSpace(string(printed))
}
