package compatibility

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// CopyCharts copies a folder of charts into another one, which must have none, with other definitions in place of
// theirs: files by their names. A definition that is not among them is left out. With nil all stay as they are.
func CopyCharts(from, into string, definitions map[string][]byte) error {
	if err := os.CopyFS(into, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying charts: %w", err)
	}
	if definitions == nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(into, "*", "files", "crds*", "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the charts of %s have no definitions", from)
	}
	for _, file := range files {
		content, there := definitions[filepath.Base(file)]
		if !there {
			err = errors.Join(err, os.Remove(file))
		} else {
			err = errors.Join(err, os.WriteFile(file, content, 0o600))
		}
	}
	return err
}

// Files are the release's stored definitions, by the names of their files.
func (r Release) Files() (map[string][]byte, error) {
	entries, err := os.ReadDir(r.DefinitionsFolder())
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(r.DefinitionsFolder(), entry.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}
