package release

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Refusal says why a release cannot be made, and what to do about it.
type Refusal struct {
	// At is the wrong file.
	At string
	// Problem is one sentence, with the remedy behind a colon.
	Problem string
}

func (r Refusal) Error() string { return r.At + ": " + r.Problem }

func refuse(at, format string, values ...any) Refusal {
	return Refusal{At: at, Problem: fmt.Sprintf(format, values...)}
}

// Pending returns one release for each version of a CHANGELOG that is not among the tags, needed ones first, and what
// is wrong with the versions themselves.
func Pending(trains []Train, tags []string) ([]Release, []Refusal) {
	var pending []Release
	var refusals []Refusal
	for _, train := range trains {
		var asked []Release
		for _, version := range train.Versions {
			if release := (Release{Train: train, Version: version}); !slices.Contains(tags, release.Tag()) {
				asked = append(asked, release)
			}
		}
		if len(asked) > 1 {
			slices.SortFunc(asked, func(a, b Release) int { return semver.Compare(a.Version, b.Version) })
			refusals = append(refusals, refuse(asked[1].File(),
				"%s is not tagged yet, and a commit is one version of %s: leave one of the two files out",
				asked[0].Version,
				train.Name))
		}
		for _, release := range asked {
			refusals = append(refusals, checkVersion(release, tags)...)
		}
		pending = append(pending, asked...)
	}
	return inOrder(pending), refusals
}

// checkVersion checks a version against the tagged ones and the path of the module.
func checkVersion(release Release, tags []string) []Refusal {
	var refusals []Refusal
	if last := lastVersion(release.Name, tags); last != "" && semver.Compare(release.Version, last) <= 0 {
		refusals = append(refusals,
			refuse(release.File(), "%s is tagged already: versions only grow, so name the file after a greater one",
				last))
	}
	if release.GoMod == nil {
		return refusals
	}
	if _, major, ok := module.SplitPathVersion(release.GoMod.Module.Mod.Path); !ok ||
		module.CheckPathMajor(release.Version, major) != nil {
		refusals = append(refusals,
			refuse(release.File(), "module %s cannot have version %s: from v2 on the path of a module ends in its "+
				"major version", release.GoMod.Module.Mod.Path, release.Version))
	}
	return refusals
}

// lastVersion is the greatest tagged version of a train, or empty.
func lastVersion(train string, tags []string) string {
	last := ""
	for _, tag := range tags {
		if version, own := strings.CutPrefix(tag, train+"/"); own && semver.Canonical(version) == version &&
			(last == "" || semver.Compare(version, last) > 0) {
			last = version
		}
	}
	return last
}

// inOrder puts libraries before the modules that require them, and charts that contain others last.
func inOrder(releases []Release) []Release {
	stage := func(release Release) int {
		switch {
		case release.GoMod == nil:
			return 2
		case release.Chart != "":
			return 1
		}
		return 0
	}
	ordered := slices.Clone(releases)
	slices.SortStableFunc(ordered, func(a, b Release) int { return stage(a) - stage(b) })
	return ordered
}

// Only keeps the releases of one train; all of them without a name.
func Only(releases []Release, train string) []Release {
	if train == "" {
		return releases
	}
	return slices.DeleteFunc(slices.Clone(releases), func(r Release) bool { return r.Name != train })
}
