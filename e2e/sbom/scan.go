package sbom

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Programs finds the Go programs in a folder, sorted by their paths. Other files are ignored; a folder without programs
// is an error.
func Programs(folder string) ([]Program, error) {
	var found []Program
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // no Go program
		}
		below, err := filepath.Rel(folder, path)
		found = append(found, Program{Path: "/" + filepath.ToSlash(below), Info: info})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for programs: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no Go program", folder)
	}
	return found, nil
}

// statement is in-toto's, in the form that BuildKit reads: BuildKit itself names the subject.
type statement struct {
	Type          string   `json:"_type"`
	PredicateType string   `json:"predicateType"`
	Predicate     Document `json:"predicate"`
}

// Scan is a scanner of BuildKit's, by its protocol for SBOMs: BUILDKIT_SCAN_SOURCE names the folder with an image's
// files, and BUILDKIT_SCAN_DESTINATION the one for statements. Folders of BUILDKIT_SCAN_SOURCE_EXTRAS, which are stages
// of the build, are not scanned.
func Scan(get func(string) string, now time.Time) error {
	source, destination := get("BUILDKIT_SCAN_SOURCE"), get("BUILDKIT_SCAN_DESTINATION")
	if source == "" || destination == "" {
		return errors.New("set BUILDKIT_SCAN_SOURCE and BUILDKIT_SCAN_DESTINATION, as BuildKit does, or name a folder")
	}
	programs, err := Programs(source)
	if err != nil {
		return err
	}
	name := filepath.Base(source)
	content, err := json.Marshal(statement{
		Type: "https://in-toto.io/Statement/v0.1", PredicateType: "https://spdx.dev/Document",
		Predicate: Describe(name, programs, now),
	})
	if err != nil {
		return err
	}
	file := filepath.Join(destination, name+".spdx.json")
	return os.WriteFile(file, content, 0o644) //nolint:gosec // BuildKit reads it
}
