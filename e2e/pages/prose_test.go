package pages_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/pages"
)

func TestCrowded(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want []int
	}{
		"a sentence a line":                  {"One is here.\nAnother is there.\n", nil},
		"two on a line":                      {"# A page\n\nOne is here.\nTwo is here. Three is, too.\n", []int{4}},
		"a question, and what follows it":    {"Is it so? It is.\n", []int{1}},
		"one in brackets":                    {"One is here (of two.) Two is there.\n", []int{1}},
		"one that begins with code":          {"One is here. `two` is there.\n", []int{1}},
		"one in bold":                        {"One is here. **Two** is there.\n", []int{1}},
		"in a list":                          {"- One is here.\n  Two is. Three is.\n- Four is. Five is.\n", []int{2, 3}},
		"a full stop within code":            {"It prints `done. All is well` there.\n", nil},
		"an abbreviation":                    {"A rack, e.g. R1, or i.e. R2 vs. R3.\n", nil},
		"a number with a point":              {"It takes 1.5 s, and v1.2 too.\n", nil},
		"what is left out":                   {"From one … to another ... A.\n", nil},
		"code, a heading and a table of two": {"## One. Two\n\n```\nOne. Two.\n```\n\n| a |\n|---|\n| One. Two. |\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pages.Crowded([]byte(c.page)); !slices.Equal(got, c.want) {
				t.Errorf("lines %v, want %v", got, c.want)
			}
		})
	}
}

// TestPagesHaveASentenceALine keeps changes of the pages readable: a diff shows the sentences that changed.
func TestPagesHaveASentenceALine(t *testing.T) {
	root := filepath.Join("..", "..")
	files := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	docs := filepath.Join(root, "docs")
	err := filepath.WalkDir(docs, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path == filepath.Join(docs, "api"): // Generated from the API types.
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages found, error %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range pages.Crowded(source) {
			t.Errorf("%s:%d has more than one sentence: begin each on a line of its own", file, line)
		}
	}
}
