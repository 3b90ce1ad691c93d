package pages

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// replacedBy are the words of the last column of a glossary's tables, which is headed "replaces", each with the word
// that is used instead.
func replacedBy(t *testing.T, glossary string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(glossary) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 {
			continue
		}
		for word := range strings.SplitSeq(cells[len(cells)-2], ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			if word == "replaces" || strings.Trim(word, "-") == "" {
				continue
			}
			require.Empty(t, found[word], "%q is replaced twice", word)
			found[word] = strings.TrimSpace(cells[1])
		}
	}
	return found
}

var (
	letters = regexp.MustCompile(`\p{L}+`)
	hump    = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
)

// asWords are the words of a text, including those of names in camel case: "bypassLedger" has two. Neither case nor the
// characters between the words matter, so that a comment may be broken anywhere.
func asWords(text string) string {
	return " " + strings.ToLower(strings.Join(letters.FindAllString(hump.ReplaceAllString(text, "$1 $2"), -1), " ")) + " "
}

func TestReplacedWordsAreFoundAnywhere(t *testing.T) {
	found := replacedBy(t, "| word | meaning | replaces |\n|---|---|---|\n| what-if | a guess | dream, Our Dream |\n"+
		"| bin | a node | |\n")
	require.Equal(t, map[string]string{"dream": "what-if", "our dream": "what-if"}, found)
	require.Equal(t, " our dream go bypass dream ", asWords("// OUR\n// dream.go, bypassDream"))
}

// TestReplacedWordsAreNotUsed reads everything that is written by hand: code, pages, charts. A CHANGELOG is left out,
// since it describes the past in the words of its time.
func TestReplacedWordsAreNotUsed(t *testing.T) {
	root := filepath.Join("..", "..")
	source, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	require.NoError(t, err)
	replaced := replacedBy(t, string(source))
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
		written := asWords(string(text))
		for word, instead := range replaced {
			if strings.Contains(written, " "+word+" ") {
				t.Errorf("%s: %q is not used any more: docs/glossary.md has %q instead",
					strings.TrimPrefix(path, root+"/"), word, instead)
			}
		}
		return nil
	})
	require.NoError(t, err)
	if read < 800 || len(replaced) < 10 {
		t.Errorf("only %d files and %d words were read: are they found?", read, len(replaced))
	}
}
