package release

import "strings"

// checkChangelog checks that the description of a release begins with its name and version, and says something.
func checkChangelog(release Release, content []byte) []Refusal {
	want := "# " + release.Name + " " + release.Version
	title, text, _ := strings.Cut(string(content), "\n")
	switch {
	case strings.TrimSpace(title) != want:
		return []Refusal{refuse(release.File(), "it does not begin with its name: write %q into the first line", want)}
	case strings.TrimSpace(text) == "":
		return []Refusal{refuse(release.File(), "nothing says what the release is about: write it below the title")}
	}
	return nil
}
