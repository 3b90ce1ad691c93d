package pages_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/pages"
)

const glossary = "# Glossary\n\n" +
	"| word | meaning | replaces |\n|---|---|---|\n" +
	"| what-if | a decision without consequences | dream, Reverie |\n" +
	"| bin | a node | |\n\n" +
	"| word | meaning | replaces |\n|---|---|---|\n" +
	"| item | what is put into a bin | parcel |\n"

func TestReplaced(t *testing.T) {
	got, err := pages.Replaced([]byte(glossary))
	require.NoError(t, err)
	want := map[string]string{"dream": "what-if", "reverie": "what-if", "parcel": "item"}
	assert.Empty(t, cmp.Diff(want, got), "replaced words (-want +got)")
}

func TestReplacedRefuses(t *testing.T) {
	for name, example := range map[string]struct{ glossary, says string }{
		"a table without the column": {"\n| word | meaning |\n|---|---|\n",
			`line 2: the last column of a glossary is headed "replaces"`},
		"a word that is replaced by two": {glossary + "| node | a machine | parcel |\n",
			`line 11: "parcel" is replaced already, by "item"`},
		"a word twice, once with a capital": {glossary + "| node | a machine | Dream |\n",
			`"dream" is replaced already`},
		"a word twice within a single table": {glossary + "| node | a machine | host |\n| bin | a node | host |\n",
			`"host" is replaced already, by "node"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := pages.Replaced([]byte(example.glossary)); err == nil ||
				!strings.Contains(err.Error(), example.says) {
				t.Errorf("got %v; want an error that says %q", err, example.says)
			}
		})
	}
}

func TestText(t *testing.T) {
	for text, c := range map[string]struct{ has, lacks []string }{
		"bypassLedger":            {[]string{"bypass", "bypassledger", "ledger"}, []string{"pass"}},
		"The DREAM, in dream.go.": {[]string{"dream", "the dream", "in dream go"}, []string{"the in"}},
		"two_words 3":             {[]string{"two", "words", "two words"}, []string{"two_words"}},
		"Überbau":                 {[]string{"überbau"}, []string{"bau"}},
		"// It reports\n// whether, and retells": {[]string{"reports whether", "retells"},
			[]string{"whether and re", "tells"}},
	} {
		read := pages.ReadText(text)
		for _, word := range c.has {
			if !read.Has(word) {
				t.Errorf("%q has not %q", text, word)
			}
		}
		for _, word := range c.lacks {
			if read.Has(word) {
				t.Errorf("%q has %q", text, word)
			}
		}
	}
}

// TestReplacedWordsAreNotUsed reads everything that is written by hand: code, pages, charts. A CHANGELOG is left out,
// since it describes the past in the words of its time.
func TestReplacedWordsAreNotUsed(t *testing.T) {
	root := filepath.Join("..", "..")
	source, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	require.NoError(t, err)
	replaced, err := pages.Replaced(source)
	if err != nil {
		t.Fatalf("docs/glossary.md: %v", err)
	}
	read := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() &&
			slices.Contains([]string{".git", "bin", "dist", "CHANGELOG", "client", "testdata", "node_modules"},
				entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".tpl", ".sh"}, filepath.Ext(path)),
			entry.Name() == "glossary.md", entry.Name() == "glossary_test.go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.Contains(text, []byte("DO NOT EDIT")) {
			return err
		}
		read++
		written := pages.ReadText(string(text))
		for word, instead := range replaced {
			if written.Has(word) {
				t.Errorf("%s: %q is not used any more: docs/glossary.md has %q instead",
					strings.TrimPrefix(path, root+"/"), word, instead)
			}
		}
		return nil
	})
	require.NoError(t, err)
	if read < 800 {
		t.Errorf("only %d files were read: are they found?", read)
	}
}
