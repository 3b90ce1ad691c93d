package release

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Pending returns one release for each version of a CHANGELOG that is not among the tags, needed ones first, and what
// is wrong with the versions themselves.
func Pending(trains []Train, tags []string) (pending []Release, refused error) {
	for _, train := range trains {
		var asked []Release
		for _, version := range train.Versions {
			if release := (Release{Train: train, Version: version}); !slices.Contains(tags, release.Tag()) {
				asked = append(asked, release)
			}
		}
		if len(asked) > 1 {
			slices.SortFunc(asked, func(a, b Release) int { return semver.Compare(a.Version, b.Version) })
			refused = errors.Join(refused, refuse(asked[1].File(),
				"%s is not tagged yet, and a commit is one version of %s: leave one of the two files out",
				asked[0].Version, train.Name))
		}
		for _, release := range asked {
			refused = errors.Join(refused, checkVersion(release, tags))
		}
		pending = append(pending, asked...)
	}
	return inOrder(pending), refused
}

// checkVersion checks a version against the tagged ones and the path of the module.
func checkVersion(release Release, tags []string) error {
	var refused error
	if last := lastVersion(release.Name, tags); semver.Compare(release.Version, last) <= 0 {
		refused = refuse(release.File(), "%s is tagged already: versions only grow, so name the file after a greater one",
			last)
	}
	if release.GoMod == nil {
		return refused
	}
	if _, major, ok := module.SplitPathVersion(release.GoMod.Module.Mod.Path); !ok ||
		module.CheckPathMajor(release.Version, major) != nil {
		refused = errors.Join(refused, refuse(release.File(), "module %s cannot have version %s: from v2 on the path of a "+
			"module ends in its major version", release.GoMod.Module.Mod.Path, release.Version))
	}
	return refused
}

// lastVersion is the greatest tagged version of a train, or "none", which is less than any.
func lastVersion(train string, tags []string) string {
	last := "none"
	for _, tag := range tags {
		if version, own := strings.CutPrefix(tag, train+"/"); own && semver.Canonical(version) == version &&
			semver.Compare(version, last) > 0 {
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
