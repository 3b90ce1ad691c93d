package release

import (
	"path"
	"slices"
	"strings"
)

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

// released reports whether a version of a train is available to others once this commit is released, and whether that
// version is made from this commit.
func (s Standing) released(train, version string) (there, here bool) {
	here = slices.ContainsFunc(s.Along, func(r Release) bool { return r.Name == train && r.Version == version })
	return here || slices.Contains(s.Tags, train+"/"+version), here
}

// siblings are the modules of this repository that a release requires, at the required versions.
func siblings(release Release, trains []Train) []Release {
	var found []Release
	for _, require := range release.GoMod.Require {
		for _, train := range trains {
			if train.GoMod != nil && train.GoMod.Module.Mod.Path == require.Mod.Path {
				found = append(found, Release{Train: train, Version: require.Mod.Version})
			}
		}
	}
	return found
}

// checkRequires checks what a build from the module's tag gets, since it does not see the module's replace lines. So
// each sibling has to be required at a version that exists and equals the sibling's directory: otherwise the builds
// and tests here are not about what users build.
func checkRequires(release Release, standing Standing) ([]Refusal, error) {
	if release.GoMod == nil {
		return nil, nil
	}
	goMod := path.Join(release.Directory, "go.mod")
	refusals := checkStrangers(release, standing.Trains)
	for _, sibling := range siblings(release, standing.Trains) {
		there, here := standing.released(sibling.Name, sibling.Version)
		switch {
		case !there:
			refusals = append(refusals,
				refuse(goMod, "it requires %s %s, which is not released: require the last tag, %s, or release %s "+
					"along with it",
					sibling.Name, sibling.Version, orNone(lastVersion(sibling.Name, standing.Tags)), sibling.File()))
		case !here:
			changed, err := standing.Changed(sibling.Tag(), sibling.Directory)
			if err != nil {
				return nil, err
			}
			if len(changed) > 0 {
				refusals = append(refusals,
					refuse(goMod,
						"it requires %s %s, but %s has changed since, in %s: release %s first, or with it, and "+
							"require that version",
						sibling.Name, sibling.Version, sibling.Directory, someOf(changed), sibling.Name))
			}
		}
	}
	return refusals, nil
}

// checkStrangers refuses lines of go.mod that mean nothing, or something else, for others.
func checkStrangers(release Release, trains []Train) []Refusal {
	var refusals []Refusal
	goMod := path.Join(release.Directory, "go.mod")
	own, _, _ := strings.Cut(release.GoMod.Module.Mod.Path, "/")
	isTrain := func(module string) bool {
		return slices.ContainsFunc(trains,
			func(t Train) bool { return t.GoMod != nil && t.GoMod.Module.Mod.Path == module })
	}
	for _, require := range release.GoMod.Require {
		if strings.HasPrefix(require.Mod.Path, own+"/") && !isTrain(require.Mod.Path) {
			refusals = append(refusals,
				refuse(goMod, "it requires %s, which is never released, since it has no CHANGELOG: do without it",
					require.Mod.Path))
		}
	}
	for _, replace := range release.GoMod.Replace {
		if !isTrain(replace.Old.Path) {
			refusals = append(refusals,
				refuse(
					goMod, "it replaces %s, which users of this module do not see: require what is meant",
					replace.Old.Path))
		}
	}
	return refusals
}

func orNone(version string) string {
	if version == "" {
		return "of which there is none"
	}
	return version
}

// someOf names the first few files.
func someOf(files []string) string {
	const few = 3
	if len(files) > few {
		return strings.Join(files[:few], ", ") + ", …"
	}
	return strings.Join(files, ", ")
}
