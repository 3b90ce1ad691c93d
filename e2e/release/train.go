// Package release decides what is to be released, whether it may be, and by which steps. A release is requested by a
// file <train>/CHANGELOG/vX.Y.Z.md that has no tag <train>/vX.Y.Z yet.
package release

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const changelogs = "CHANGELOG"

// Train is released under one version: a Go module, with the chart and the images of a component; or a chart that
// contains other charts. All paths are below the root of the repository, with slashes.
type Train struct {
	// Name is the prefix of its tags, <Name>/vX.Y.Z.
	Name string
	// Directory has the CHANGELOG.
	Directory string
	// GoMod is the parsed go.mod; nil for a train that is only a chart.
	GoMod *modfile.File
	// Chart is the directory of its chart; empty for a library.
	Chart string
	// Images are the programs for which it has images.
	Images []string
	// Plugin is the Krew manifest of a kubectl plugin among its programs; empty if there is none.
	Plugin string
	// Versions are the names of the files of its CHANGELOG, in no order.
	Versions []string
}

// Release is one version of a train, as vX.Y.Z.
type Release struct {
	Train
	Version string
}

// Tag names the commit of the release.
func (r Release) Tag() string { return r.Name + "/" + r.Version }

// Number is the version in charts and images, without the v.
func (r Release) Number() string { return strings.TrimPrefix(r.Version, "v") }

// File that requests the release.
func (r Release) File() string { return path.Join(r.Directory, changelogs, r.Version+".md") }

// Trains finds every directory with a CHANGELOG at the root and below charts, sorted by name.
func Trains(root string) ([]Train, error) {
	var trains []Train
	for _, pattern := range []string{"*", "charts/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern, changelogs))
		if err != nil {
			return nil, err
		}
		for _, directory := range found {
			directory, err := filepath.Rel(root, filepath.Dir(directory))
			if err != nil {
				return nil, err
			}
			train, err := readTrain(root, filepath.ToSlash(directory))
			if err != nil {
				return nil, err
			}
			trains = append(trains, train)
		}
	}
	slices.SortFunc(trains, func(a, b Train) int { return strings.Compare(a.Name, b.Name) })
	return trains, nil
}

func readTrain(root, directory string) (Train, error) {
	train := Train{Name: path.Base(directory), Directory: directory}
	entries, err := os.ReadDir(filepath.Join(root, directory, changelogs))
	if err != nil {
		return train, err
	}
	for _, entry := range entries {
		version, isPage := strings.CutSuffix(entry.Name(), ".md")
		if !isPage || semver.Canonical(version) != version {
			return train, fmt.Errorf(
				"%s: files of a CHANGELOG are named vX.Y.Z.md after the version that they ask for: rename it",
				path.Join(directory, changelogs, entry.Name()))
		}
		train.Versions = append(train.Versions, version)
	}
	if train.GoMod, err = readGoMod(root, directory); err != nil {
		return train, err
	}
	if chart := path.Join("charts", train.Name); exists(root, path.Join(chart, "Chart.yaml")) {
		train.Chart = chart
	}
	if plugin := path.Join(directory, "krew.yaml"); exists(root, plugin) {
		train.Plugin = plugin
	}
	train.Images, err = images(root, directory)
	return train, err
}

func readGoMod(root, directory string) (*modfile.File, error) {
	file := path.Join(directory, "go.mod")
	content, err := os.ReadFile(filepath.Join(root, file))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return modfile.Parse(file, content, nil)
}

// images are named by the recipes: Dockerfile builds the program named like its directory, <program>.Dockerfile another
// one.
func images(root, directory string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(root, directory, "*Dockerfile"))
	var programs []string
	for _, recipe := range found {
		program := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(recipe), "Dockerfile"), ".")
		if program == "" {
			program = path.Base(directory)
		}
		programs = append(programs, program)
	}
	slices.Sort(programs)
	return programs, err
}

func exists(root, file string) bool {
	_, err := os.Stat(filepath.Join(root, file))
	return err == nil
}
