package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Plan has the releases of a commit.
type Plan struct {
	// Releases are the requested ones, each after the releases that it needs.
	Releases []Release
	// Along are all releases that count as made from this commit.
	Along []Release
}

// Plan reads the repository and returns the releases of its commit, or all refusals, joined. It builds nothing. train
// narrows it to one train; the tags are those of the remote, or of the checkout without one. With alone, pending
// releases of other trains do not count as released.
func (r Repository) Plan(ctx context.Context, train, remote string, alone bool) (Plan, error) {
	trains, err := Trains(r.Root)
	if err != nil {
		return Plan{}, err
	}
	var names []string
	for _, known := range trains {
		names = append(names, known.Name)
	}
	if train != "" && !slices.Contains(names, train) {
		return Plan{}, fmt.Errorf("nothing named %q is released: there are %s", train, strings.Join(names, ", "))
	}
	if err := r.CheckState(ctx); err != nil {
		return Plan{}, err
	}
	tags, err := r.Tags(ctx, remote)
	if err != nil {
		return Plan{}, err
	}
	pending, refused := Pending(trains, tags)
	plan := Plan{Releases: Only(pending, train), Along: pending}
	if alone {
		plan.Along = plan.Releases
	}
	standing := Standing{Trains: trains, Along: plan.Along, Tags: tags,
		Changed: func(tag, directory string) ([]string, error) { return r.Changed(ctx, tag, directory) }}
	for _, release := range plan.Releases {
		refused = errors.Join(refused, r.Judge(release, standing), r.checkFrozen(ctx, release))
	}
	return plan, refused
}

// refuse says why a release cannot be made, and what to do about it: the wrong file, and one sentence, with the remedy
// behind a colon.
func refuse(at, format string, values ...any) error {
	return errors.New(at + ": " + fmt.Sprintf(format, values...))
}

// Standing is the repository's state about versions: which are tagged, and what has changed since.
type Standing struct {
	// Trains are all trains, whether they are released now or not.
	Trains []Train
	// Along are the releases that are made from this commit.
	Along []Release
	// Tags of the repository.
	Tags []string
	// Changed lists the files below a directory that differ from a tag. Files without an effect on builds are left out:
	// the CHANGELOG itself and tests.
	Changed func(tag, directory string) ([]string, error)
}

// Judge applies the rules for one release. The frozen files are not checked: until the release they may be older than
// the commit.
func (r Repository) Judge(release Release, standing Standing) error {
	refused := errors.Join(r.checkChangelog(release), standing.checkModule(release))
	if release.Chart == "" {
		return refused
	}
	all, err := charts(r.Root)
	if err != nil {
		return err
	}
	return errors.Join(refused, standing.checkChart(release, all[release.Chart]), checkHolders(release, all))
}

// checkChangelog checks that the description of a release begins with its name and version, and says something.
func (r Repository) checkChangelog(release Release) error {
	content, err := os.ReadFile(filepath.Join(r.Root, release.File()))
	if err != nil {
		return err
	}
	want := "# " + release.Name + " " + release.Version
	title, text, _ := strings.Cut(string(content), "\n")
	switch {
	case strings.TrimSpace(title) != want:
		return refuse(release.File(), "it does not begin with its name: write %q into the first line", want)
	case strings.TrimSpace(text) == "":
		return refuse(release.File(), "nothing says what the release is about: write it below the title")
	}
	return nil
}

// checkModule checks what a build from the module's tag gets, since it does not see the module's replace lines: which
// of our own modules, and that nothing else is replaced.
func (s Standing) checkModule(release Release) error {
	if release.GoMod == nil {
		return nil
	}
	var refused error
	goMod := path.Join(release.Directory, "go.mod")
	own, _, _ := strings.Cut(release.GoMod.Module.Mod.Path, "/")
	for _, require := range release.GoMod.Require {
		sibling := s.module(require.Mod.Path)
		switch {
		case sibling != nil:
			refused = errors.Join(refused, s.needs(goMod, sibling.Name, require.Mod.Version, sibling.Directory))
		case strings.HasPrefix(require.Mod.Path, own+"/"):
			refused = errors.Join(refused, refuse(goMod,
				"it requires %s, which is never released, since it has no CHANGELOG: do without it", require.Mod.Path))
		}
	}
	for _, replace := range release.GoMod.Replace {
		if s.module(replace.Old.Path) == nil {
			refused = errors.Join(refused, refuse(goMod,
				"it replaces %s, which users of this module do not see: require what is meant", replace.Old.Path))
		}
	}
	return refused
}

// module is the train of a Go module; nil if it is none of ours, or never released.
func (s Standing) module(name string) *Train {
	at := slices.IndexFunc(s.Trains, func(t Train) bool { return t.GoMod != nil && t.GoMod.Module.Mod.Path == name })
	if at < 0 {
		return nil
	}
	return &s.Trains[at]
}

// needs checks a version of another train that a file names. It has to exist, and to equal the train's directory:
// otherwise the builds and tests here are not about what users build.
func (s Standing) needs(at, train, version, directory string) error {
	if slices.ContainsFunc(s.Along, func(r Release) bool { return r.Name == train && r.Version == version }) {
		return nil
	}
	if !slices.Contains(s.Tags, train+"/"+version) {
		return refuse(at, "it needs %s %s, which is not released: name the last tag, %s, or release that version along",
			train, version, lastVersion(train, s.Tags))
	}
	changed, err := s.Changed(train+"/"+version, directory)
	if err == nil && len(changed) > 0 {
		err = refuse(at, "it needs %s %s, but %s has changed since, in %s: release %s first, or along, and name that version",
			train, version, directory, strings.Join(changed[:min(len(changed), 3)], ", "), train)
	}
	return err
}

// frozen has a folder for each version of the kinds, with the objects that it leaves in clusters. Later versions are
// tested against it.
const frozen = "e2e/compatibility/testdata"

// checkFrozen compares the CRDs of a release with the CRDs that are stored for the tests of later releases.
func (r Repository) checkFrozen(ctx context.Context, release Release) error {
	if release.Directory != "shared" {
		return nil
	}
	kept := path.Join(frozen, release.Version, "crds")
	if !exists(r.Root, kept) {
		return refuse(kept, "nothing is kept of this version for the tests of later ones: run 'make freeze RELEASE=%s'",
			release.Version)
	}
	// The trees of the commit, which is all that the checkout has.
	changed, err := r.git(ctx, "diff", "--name-only", "HEAD:shared/api/crds", "HEAD:"+kept, "--", "*.yaml")
	if err == nil && changed != "" {
		err = refuse(kept, "%s not as in shared/api/crds: run 'make freeze RELEASE=%s' again",
			strings.ReplaceAll(changed, "\n", ", "), release.Version)
	}
	return err
}
