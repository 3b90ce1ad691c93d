package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Chart has the versions in a Chart.yaml.
type Chart struct {
	Version      string       `json:"version"`
	AppVersion   string       `json:"appVersion"`
	Dependencies []Dependency `json:"dependencies"`
}

// Dependency is a chart inside of another one.
type Dependency struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ReadChart reads the Chart.yaml of a chart's directory.
func ReadChart(root, directory string) (Chart, error) {
	var chart Chart
	file := path.Join(directory, "Chart.yaml")
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return chart, err
	}
	if err := yaml.Unmarshal(content, &chart); err != nil {
		return chart, fmt.Errorf("%s: %w", file, err)
	}
	return chart, nil
}

// checkChart checks the versions in the chart of a release, and those of the charts that it contains.
func (s Standing) checkChart(release Release, chart Chart) error {
	var refused error
	file := path.Join(release.Chart, "Chart.yaml")
	if chart.Version != release.Number() {
		refused = refuse(file, "version is %q, and the release is %q: set it", chart.Version, release.Number())
	}
	if chart.AppVersion != release.Number() {
		refused = errors.Join(refused, refuse(file, "appVersion is %q, and so would be the tag of the image, but the "+
			"release is %q: set it", chart.AppVersion, release.Number()))
	}
	for _, dependency := range chart.Dependencies {
		refused = errors.Join(refused,
			s.needs(file, dependency.Name, "v"+dependency.Version, path.Join("charts", dependency.Name)))
	}
	return refused
}

// checkHolders checks that every chart which contains the released one names its version; otherwise Helm would not take
// it from its directory.
func checkHolders(release Release, holders map[string]Chart) error {
	var refused error
	for directory, holder := range holders {
		for _, dependency := range holder.Dependencies {
			if dependency.Name == release.Name && dependency.Version != release.Number() {
				refused = errors.Join(refused, refuse(path.Join(directory, "Chart.yaml"),
					"dependency %s is %s, and the release is %s: set it", dependency.Name, dependency.Version, release.Number()))
			}
		}
	}
	return refused
}

// charts reads all charts of the repository, by directory.
func charts(root string) (map[string]Chart, error) {
	found, err := fs.Glob(os.DirFS(root), "charts/*/Chart.yaml")
	if err != nil {
		return nil, err
	}
	all := map[string]Chart{}
	for _, file := range found {
		if all[path.Dir(file)], err = ReadChart(root, path.Dir(file)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
