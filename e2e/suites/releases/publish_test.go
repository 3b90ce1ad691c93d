package releases

import (
	"bytes"
	"encoding/pem"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"

	"packtree.dev/e2e/release"
)

// The releases that this commit would make are published into a registry and a remote of the test: the charts by helm,
// the images with a go and a docker that record their calls.
func TestWhatIsPublishedCanBeInstalled(t *testing.T) {
	checkout, remote := cloned(t)
	host := registryHere(t)
	recorded := programsHere(t)
	for _, train := range trains(t) {
		if train.Name != "grove-operator" && train.Name != "packtree" {
			continue
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
		for _, image := range train.Images {
			if want := "version.version=" + latest.Version + " "; !strings.Contains(printed.String(), want) ||
				!strings.Contains(printed.String(), "linux-arm64/"+image+" ./cmd/"+image+"\n") {
				t.Errorf("%s is not built with %s:\n%s", image, want, printed.String())
			}
		}
		if tags := command(t, remote, "git", "tag", "--list", latest.Tag()); tags != latest.Tag() {
			t.Errorf("the remote has no tag %s", latest.Tag())
		}
	}
	calls, err := os.ReadFile(recorded)
	require.NoError(t, err)
	for _, want := range []string{"--output type=image,name=" + host + "/team/packtree/grove-startup:", "--sbom=true"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("docker is not called with %q:\n%s", want, calls)
		}
	}
}

// cloned is a clone of this repository without its tags, which pushes to a remote of its own.
func cloned(t *testing.T) (checkout release.Repository, remote string) {
	t.Helper()
	root, err := filepath.Abs(repository)
	require.NoError(t, err)
	checkout.Root, remote = filepath.Join(t.TempDir(), "clone"), t.TempDir()
	command(t, root, "git", "clone", "--quiet", "--shared", "--no-tags", root, checkout.Root)
	command(t, remote, "git", "init", "--quiet", "--bare")
	command(t, checkout.Root, "git", "remote", "set-url", "origin", remote)
	command(t, checkout.Root, "git", "config", "user.name", "a")
	command(t, checkout.Root, "git", "config", "user.email", "a@example.com")
	require.NoError(t, os.Mkdir(filepath.Join(checkout.Root, "bin"), 0o755))
	require.NoError(t, os.Symlink(filepath.Dir(helm(t)), filepath.Join(checkout.Root, "bin", "tools")))
	return checkout, remote
}

// registryHere starts a registry with a certificate that the test's programs trust, and returns its host.
func registryHere(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(registry.New(registry.Logger(log.New(t.Output(), "registry: ", 0))))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(authority, certificate, 0o600))
	t.Setenv("SSL_CERT_FILE", authority)
	return strings.TrimPrefix(server.URL, "https://")
}

// programsHere puts a docker and a go first in PATH, and returns the file in which docker records its calls.
func programsHere(t *testing.T) string {
	t.Helper()
	here := script{tools: t.TempDir()}
	here.links(t, "bash")
	calls := filepath.Join(here.tools, "calls")
	here.has(t, "docker", "echo \"$@\" >>"+calls)
	here.has(t, "go", compiler)
	t.Setenv("PATH", here.tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return calls
}

func helm(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(repository, "bin", "tools", "helm"))
	require.NoError(t, err)
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
