package release_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/release"
)

var elsewhere = release.Destination{Registry: "registry.example/team", Remote: "origin"}

// scripted are programs that record their calls. The image of a program called later cannot be pushed while the file
// broken exists.
var scripted = edit{
	".gitignore": "/dist/\n/bin/\n/calls\n/broken\n",
	".ci/images": "#!/bin/sh\necho \"docker $1 of $IMAGES $VERSION as $TAG to $REGISTRY push=$PUSH\" >>calls\n! [ -e " +
		"broken ]\n",
}

const helm = "#!/bin/sh\necho helm \"$@\" >>calls\n"

// published is a checkout with a remote that has its commit on the main branch.
func published(t *testing.T) (checkout release.Repository, remote string) {
	t.Helper()
	checkout = repository(t, nil, scripted)
	write(t, checkout.Root, map[string]string{"bin/tools/helm": helm})
	remote = t.TempDir()
	git(t, remote, "init", "-q", "--bare")
	git(t, checkout.Root, "remote", "add", "origin", remote)
	git(t, checkout.Root, "push", "-q", "origin", "main")
	return checkout, remote
}

func TestAReleasePublishesAndTagsLast(t *testing.T) {
	checkout, remote := published(t)
	require.NoError(t, publishAll(t, checkout))
	want := strings.Join([]string{
		"helm package charts/podgrouper --destination dist/charts",
		"docker images of later podgrouper v0.1.0 as 0.1.0 to registry.example/team push=1",
		"helm push dist/charts/podgrouper-0.1.0.tgz oci://registry.example/team/packtree/charts",
		"helm package charts/packtree --destination dist/charts",
		"helm push dist/charts/packtree-0.1.0.tgz oci://registry.example/team/packtree/charts",
		"",
	}, "\n")
	assert.Empty(t, cmp.Diff(want, called(t, checkout)), "calls (-want +got)")
	for _, name := range allTags {
		if tagged := git(t, remote, "rev-parse", name+"^{commit}"); tagged != git(t, checkout.Root,
			"rev-parse", "HEAD") {
			t.Errorf("%s is on %s, want the commit that was released", name, tagged)
		}
	}
	if message := git(t, remote, "tag", "--list", "--format=%(contents)",
		"podgrouper/v0.1.0"); message != strings.TrimSpace(changelog("podgrouper", "v0.1.0")) {
		t.Errorf("the tag says %q, want the text of the CHANGELOG", message)
	}
}

func TestAReleaseIsSignedBeforeItIsTagged(t *testing.T) {
	checkout, remote := published(t)
	signed := elsewhere
	signed.Sign = true
	t.Run("without cosign nothing is published", func(t *testing.T) {
		tools := t.TempDir()
		program, err := exec.LookPath("git")
		if err == nil {
			err = os.Symlink(program, filepath.Join(tools, "git"))
		}
		require.NoError(t, err)
		t.Setenv("PATH", tools)
		err = checkout.Publish(t.Context(), "", "main", signed, io.Discard)
		require.ErrorContains(t, err, "cosign")
		if tags := git(t, remote, "tag", "--list"); tags != "" {
			t.Errorf("tags %q of what nobody signed", tags)
		}
	})
	tools := t.TempDir()
	write(t, tools, map[string]string{"cosign": "#!/bin/sh\necho cosign \"$@\" >>calls\n"})
	t.Setenv("PATH", tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	require.NoError(t, checkout.Publish(t.Context(), "", "main", signed, io.Discard))
	want := strings.Join([]string{
		"helm package charts/podgrouper --destination dist/charts",
		"docker images of later podgrouper v0.1.0 as 0.1.0 to registry.example/team push=1",
		"docker sign of later podgrouper v0.1.0 as 0.1.0 to registry.example/team push=1",
		"helm push dist/charts/podgrouper-0.1.0.tgz oci://registry.example/team/packtree/charts",
		"cosign sign --yes registry.example/team/packtree/charts/podgrouper:0.1.0",
		"helm package charts/packtree --destination dist/charts",
		"helm push dist/charts/packtree-0.1.0.tgz oci://registry.example/team/packtree/charts",
		"cosign sign --yes registry.example/team/packtree/charts/packtree:0.1.0",
		"",
	}, "\n")
	assert.Empty(t, cmp.Diff(want, called(t, checkout)), "calls (-want +got)")
}

func TestTheKubectlPluginWaitsInADraftBeforeTheTag(t *testing.T) {
	component := release.Release{
		Train:   release.Train{Name: "later", Directory: "later", Images: []string{"later"}, Plugin: "later/krew.yaml"},
		Version: "v0.1.0",
	}
	said := func(component release.Release, downloads string) string {
		destination := elsewhere
		destination.Downloads = downloads
		var lines []string
		for _, step := range release.Steps(component, destination) {
			lines = append(lines, strings.Join(append(step.Set, step.Command...), " "))
			if !step.Outward {
				t.Errorf("a dry run would do it: %v", step.Command)
			}
		}
		return strings.Join(lines, "\n")
	}
	want := strings.Join([]string{
		"IMAGES=later VERSION=v0.1.0 TAG=0.1.0 REGISTRY=registry.example/team PUSH=1 .ci/images images",
		"VERSION=v0.1.0 DOWNLOADS=https://example.com/files/later/v0.1.0 .ci/images plugin",
		"VERSION=v0.1.0 RELEASE=later/v0.1.0 NOTES=later/CHANGELOG/v0.1.0.md .ci/images draft",
		"git tag --annotate --force --cleanup=whitespace --file later/CHANGELOG/v0.1.0.md later/v0.1.0 HEAD",
		"git push origin refs/tags/later/v0.1.0",
	}, "\n")
	assert.Empty(t, cmp.Diff(want, said(component, "https://example.com/files/")), "(-want +got)")
	if got := said(component, ""); strings.Contains(got, "plugin") {
		t.Errorf("there is nowhere to fetch it from: %s", got)
	}
	component.Plugin = ""
	if got := said(component, "https://example.com/files"); strings.Contains(got, "plugin") {
		t.Errorf("there is no plugin: %s", got)
	}
}

func TestWhoHasAPluginSaysWhatKrewIsToSayOfIt(t *testing.T) {
	checkout := repository(t, nil, edit{"podgrouper/krew.yaml": "kind: Plugin\n"})
	trains, err := release.Trains(checkout.Root)
	require.NoError(t, err)
	for _, train := range trains {
		want := map[string]string{"podgrouper": "podgrouper/krew.yaml"}[train.Name]
		if train.Plugin != want {
			t.Errorf("%s has %q, want %q", train.Name, train.Plugin, want)
		}
	}
}

func TestAReleaseThatEndsHalfWayIsMadeAgain(t *testing.T) {
	checkout, remote := published(t)
	write(t, checkout.Root, map[string]string{"broken": "yes\n"})
	require.ErrorContains(t, publishAll(t, checkout), "podgrouper/v0.1.0: build and push the images")
	if tags := git(t, remote, "tag", "--list"); tags != "shared/v0.1.0" {
		t.Errorf("tags %q, want that of the library alone, since the component's image is not there", tags)
	}
	// As if the tag had been made and its push had failed.
	git(t, checkout.Root, "tag", "podgrouper/v0.1.0")
	write(t, checkout.Root, map[string]string{"broken": ""})
	require.NoError(t, publishAll(t, checkout))
	if tags := git(t, remote, "tag", "--list"); tags != "packtree/v0.1.0\npodgrouper/v0.1.0\nshared/v0.1.0" {
		t.Errorf("tags %q, want all", tags)
	}
}

func TestADryRunPackagesAndPublishesNothing(t *testing.T) {
	checkout, remote := published(t)
	var output bytes.Buffer
	require.NoError(t, checkout.DryRun(t.Context(), "", release.Destination{Remote: "origin"}, &output))
	for _, want := range []string{
		"podgrouper/v0.1.0: would push the chart: bin/tools/helm push dist/charts/podgrouper-0.1.0.tgz " +
			"oci://$REGISTRY/packtree/charts\n",
		"shared/v0.1.0: would push the tag: git push origin refs/tags/shared/v0.1.0\n", "nothing was published",
	} {
		if !strings.Contains(output.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, output.String())
		}
	}
	if calls := called(t, checkout); strings.Contains(calls, "push") ||
		!strings.Contains(calls, "helm package charts/podgrouper") {
		t.Errorf("calls %q, want packages and nothing else", calls)
	}
	if tags := git(t, checkout.Root, "tag", "--list") + git(t, remote, "tag", "--list"); tags != "" {
		t.Errorf("tags %q, want none", tags)
	}
}

func TestOnlyWhatHasBeenMergedIsReleased(t *testing.T) {
	checkout, remote := published(t)
	published := func(branch string) error {
		return checkout.Publish(t.Context(), "shared", branch, elsewhere, io.Discard)
	}
	require.ErrorContains(t, published("trunk"), "origin has no branch trunk")
	commit(t, checkout.Root)
	require.ErrorContains(t, published("main"), "HEAD is not on main of origin")
	if tags := git(t, remote, "tag", "--list"); tags != "" {
		t.Errorf("tags %q of what has not been merged", tags)
	}
	git(t, checkout.Root, "push", "-q", "origin", "main")
	git(t, checkout.Root, "checkout", "-q", "HEAD^")
	if err := published("main"); err != nil {
		t.Errorf("a commit below the tip of main: %v", err)
	}
	if tags := git(t, remote, "tag", "--list"); tags != "shared/v0.1.0" {
		t.Errorf("tags %q, want that of the one that was asked for", tags)
	}
}

func TestWhatIsPublishedGoesSomewhere(t *testing.T) {
	checkout, remote := published(t)
	err := checkout.Publish(t.Context(), "", "main", release.Destination{Remote: "origin"}, io.Discard)
	require.ErrorContains(t, err, "set REGISTRY")
	if tags := git(t, remote, "tag", "--list"); tags != "" {
		t.Errorf("tags %q of what went nowhere", tags)
	}
}

func TestNothingIsReleasedTwice(t *testing.T) {
	checkout, _ := published(t)
	require.NoError(t, publishAll(t, checkout))
	before := called(t, checkout)
	var output bytes.Buffer
	if err := checkout.Publish(t.Context(), "", "main", elsewhere, &output); err != nil ||
		!strings.Contains(output.String(), "nothing to release") {
		t.Errorf("the second time: %v, %q", err, output.String())
	}
	if err := checkout.Check(t.Context(), "", &output); err != nil {
		t.Errorf("a check afterwards: %v", err)
	}
	if after := called(t, checkout); after != before {
		t.Errorf("calls %q, want none", strings.TrimPrefix(after, before))
	}
}

func publishAll(t *testing.T, checkout release.Repository) error {
	t.Helper()
	var output bytes.Buffer
	defer func() { t.Log(output.String()) }()
	return checkout.Publish(t.Context(), "", "main", elsewhere, &output)
}

func called(t *testing.T, checkout release.Repository) string {
	t.Helper()
	calls, err := os.ReadFile(filepath.Join(checkout.Root, "calls"))
	require.NoError(t, err)
	return string(calls)
}
