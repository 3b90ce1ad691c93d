package release_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/e2e/release"
)

var elsewhere = release.Destination{Registry: "registry.example/team", Remote: "origin"}

// scripted are programs that write down how they are called. The image of a program called later cannot be pushed while the
// file broken is there.
var scripted = edit{
	".gitignore": "/dist/\n/bin/\n/calls\n/broken\n",
	".ci/images": "#!/bin/sh\necho \"docker $1 of $IMAGES $VERSION as $TAG to $REGISTRY push=$PUSH\" >>calls\n! [ -e broken ]\n",
}

const helm = "#!/bin/sh\necho helm \"$@\" >>calls\n"

// published is a checkout with a remote, whose main it is on.
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
	if err := runAll(t, checkout, true); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"helm package charts/podgrouper --destination dist/charts",
		"docker images of later podgrouper v0.1.0 as 0.1.0 to registry.example/team push=1",
		"helm push dist/charts/podgrouper-0.1.0.tgz oci://registry.example/team/packtree/charts",
		"helm package charts/packtree --destination dist/charts",
		"helm push dist/charts/packtree-0.1.0.tgz oci://registry.example/team/packtree/charts",
		"",
	}, "\n")
	if diff := cmp.Diff(want, called(t, checkout)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for _, name := range allTags {
		if tagged := git(t, remote, "rev-parse", name+"^{commit}"); tagged != git(t, checkout.Root, "rev-parse", "HEAD") {
			t.Errorf("%s is on %s, want the commit that was released", name, tagged)
		}
	}
	if message := git(t, remote, "tag", "--list", "--format=%(contents)", "podgrouper/v0.1.0"); message != strings.TrimSpace(changelog("podgrouper", "v0.1.0")) {
		t.Errorf("the tag says %q, want the text of the CHANGELOG", message)
	}
	if plan, err := checkout.Plan(t.Context(), "", "origin", true); err != nil || len(plan.Releases) > 0 {
		t.Errorf("releases %v, %v after everything has been released", tagsOf(plan.Releases), err)
	}
}

func TestAReleaseThatEndsHalfWayIsMadeAgain(t *testing.T) {
	checkout, remote := published(t)
	write(t, checkout.Root, map[string]string{"broken": "yes\n"})
	if err := runAll(t, checkout, true); err == nil || !strings.Contains(err.Error(), "podgrouper/v0.1.0: build and push the images") {
		t.Errorf("error %v, want one that says what was being done", err)
	}
	if tags := git(t, remote, "tag", "--list"); tags != "shared/v0.1.0" {
		t.Errorf("tags %q, want that of the library alone, since the component's image is not there", tags)
	}
	// As if the tag had been made and the push of it had failed.
	git(t, checkout.Root, "tag", "podgrouper/v0.1.0")
	write(t, checkout.Root, map[string]string{"broken": ""})
	if err := runAll(t, checkout, true); err != nil {
		t.Fatal(err)
	}
	if tags := git(t, remote, "tag", "--list"); tags != "packtree/v0.1.0\npodgrouper/v0.1.0\nshared/v0.1.0" {
		t.Errorf("tags %q, want all", tags)
	}
}

func TestADryRunPackagesAndPublishesNothing(t *testing.T) {
	checkout, remote := published(t)
	if err := runAll(t, checkout, false); err != nil {
		t.Fatal(err)
	}
	if calls := called(t, checkout); strings.Contains(calls, "push") || !strings.Contains(calls, "helm package charts/podgrouper") {
		t.Errorf("calls %q, want packages and nothing else", calls)
	}
	if tags := git(t, checkout.Root, "tag", "--list") + git(t, remote, "tag", "--list"); tags != "" {
		t.Errorf("tags %q, want none", tags)
	}
}

func TestOnlyWhatHasBeenMergedIsReleased(t *testing.T) {
	checkout, _ := published(t)
	if err := checkout.CheckReviewed(t.Context(), "origin", "main"); err != nil {
		t.Errorf("the tip of main: %v", err)
	}
	if err := checkout.CheckReviewed(t.Context(), "origin", "trunk"); err == nil || !strings.Contains(err.Error(), "origin has no branch trunk") {
		t.Errorf("a branch that is not there: error %v", err)
	}
	commit(t, checkout.Root)
	if err := checkout.CheckReviewed(t.Context(), "origin", "main"); err == nil || !strings.Contains(err.Error(), "HEAD is not on main of origin") {
		t.Errorf("a commit of one's own: error %v", err)
	}
	git(t, checkout.Root, "push", "-q", "origin", "main")
	git(t, checkout.Root, "checkout", "-q", "HEAD^")
	if err := checkout.CheckReviewed(t.Context(), "origin", "main"); err != nil {
		t.Errorf("a commit below the tip of main: %v", err)
	}
}

func runAll(t *testing.T, checkout release.Repository, push bool) error {
	t.Helper()
	plan, err := checkout.Plan(t.Context(), "", "origin", true)
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	defer func() { t.Log(output.String()) }()
	for _, one := range plan.Releases {
		if err := checkout.Run(t.Context(), one, elsewhere, push, &output); err != nil {
			return err
		}
	}
	return nil
}

func called(t *testing.T, checkout release.Repository) string {
	t.Helper()
	calls, err := os.ReadFile(filepath.Join(checkout.Root, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return string(calls)
}
