package pages_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/pages"
)

const (
	// longestPage and longestSentence are limits in lines and words, for pages that are written by hand.
	longestPage, longestSentence = 300, 40
	// plainestGuide is the least reading ease of a guide. Pages of references are not measured.
	plainestGuide = 60.0
)

// forbidden are words that make a text hard to read: a noun says the same in less time.
var forbidden = regexp.MustCompile(`(?i)\b(who|whom|whoever|whose|nobody|somebody|of which|those that)\b`)

// generated reports whether the style of a page is not its own: a program writes it, or it repeats other documents.
func generated(page string) bool {
	return strings.HasPrefix(page, "docs/api/") || page == "docs/conformance.md" || page == "docs/fields.md"
}

// guide reports whether a page is for users without knowledge of the project.
func guide(page string) bool {
	return strings.HasPrefix(page, "docs/guides/") || slices.Contains([]string{
		"README.md", "docs/quick-start.md", "docs/concepts.md", "docs/why-is-my-pod-waiting.md", "docs/install.md",
		"docs/admin-guide.md", "docs/operations.md", "docs/simulation.md", "docs/kubectl-packtree.md", "docs/view.md",
		"docs/support-bundle.md", "docs/podcliqueset/updates.md", "docs/podcliqueset/scaling.md",
		"docs/podcliqueset/startup.md",
	}, page)
}

// handWritten are the pages for users and contributors, by their paths. The pages beside charts and suites are read for
// forbidden words alone: values and suites make their tables.
func handWritten(t *testing.T) map[string][]byte {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	read := map[string][]byte{}
	add := func(path string) {
		source, err := fs.ReadFile(root, path)
		require.NoError(t, err)
		read[path] = source
	}
	charts, err := fs.Glob(root, "charts/*/README.md")
	if err != nil || len(charts) == 0 {
		t.Fatalf("pages of charts: %v, %v", charts, err)
	}
	for _, path := range slices.Concat([]string{"README.md", "CONTRIBUTING.md", "e2e/suites/README.md"}, charts) {
		add(path)
	}
	err = fs.WalkDir(root, "docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && !strings.HasPrefix(path, "docs/api/") {
			add(path)
		}
		return err
	})
	if err != nil || len(read) < 60 {
		t.Fatalf("%d pages found, error %v", len(read), err)
	}
	return read
}

func TestPagesArePlain(t *testing.T) {
	lines := 0
	all := handWritten(t)
	for _, page := range slices.Sorted(maps.Keys(all)) {
		sentences := pages.Sentences(all[page])
		for _, sentence := range sentences {
			if word := forbidden.FindString(sentence.Text); word != "" {
				t.Errorf("%s:%d: name the thing instead of %q: %s", page, sentence.Line, word, sentence.Text)
			}
		}
		if ownStyle := strings.HasPrefix(page, "docs/") || !strings.Contains(page, "/"); !ownStyle || generated(page) {
			continue
		}
		for _, sentence := range sentences {
			if count := len(pages.Words(sentence.Text)); count > longestSentence {
				t.Errorf("%s:%d: a sentence of %d words: %s", page, sentence.Line, count, sentence.Text)
			}
		}
		length := strings.Count(string(all[page]), "\n")
		if length > longestPage {
			t.Errorf("%s has %d lines: split it by topic", page, length)
		}
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/examples/") {
			lines += length
		}
		prose := slices.DeleteFunc(sentences, func(s pages.Sentence) bool { return s.Cell || s.Heading })
		if guide(page) {
			ease := pages.ReadingEase(prose)
			t.Logf("%s: reading ease %.0f", page, ease)
			if ease < plainestGuide {
				t.Errorf("%s: the reading ease is %.0f, less than %.0f", page, ease, plainestGuide)
			}
		}
	}
	t.Logf("%d lines below docs are written by hand", lines)
}

func TestCommentsArePlain(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		lines, err := unplainComments(path)
		for _, line := range lines {
			t.Errorf("%s: name the thing", line)
		}
		files++
		return err
	})
	if err != nil || files < 1000 {
		t.Fatalf("%d files read, error %v", files, err)
	}
}

// unplainComments are the lines of a Go file's comments that have a forbidden word. A generated file has none.
func unplainComments(path string) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || strings.HasPrefix(filepath.Base(path), "zz_generated") {
		return nil, err
	}
	var lines []string
	for _, group := range file.Comments {
		if strings.Contains(group.Text(), "DO NOT EDIT") {
			return nil, nil
		}
		// A phrase may be broken between two lines.
		text := strings.Join(strings.Fields(group.Text()), " ")
		if word := forbidden.FindString(text); word != "" {
			lines = append(lines, files.Position(group.Pos()).String()+": "+word)
		}
	}
	return lines, nil
}

func TestSentences(t *testing.T) {
	const page = "# A title\n\nOne is here: a list.\nTwo, e.g. this\none, has `code`.\n\n" +
		"- Three.\n  Four?\n\n| Five | |\n|---|---|\n| Six. Seven | [eight](x.md) |\n\n" +
		"```\nNot this.\n```\n<!-- nor this -->\n"
	var got []string
	for _, sentence := range pages.Sentences([]byte(page)) {
		got = append(got, sentence.Text)
	}
	want := []string{"A title", "One is here:", "a list.", "Two, e.g. this one, has code.", "Three.", "Four?",
		"Five", "Six.", "Seven", "eight"}
	if !slices.Equal(got, want) {
		t.Errorf("sentences %q, want %q", got, want)
	}
}

func TestSyllables(t *testing.T) {
	for count, words := range map[int]string{
		1: "a the pod node placed gang rack names whole named free waits",
		2: "needed table places reason kernel changes cluster open",
		3: "scheduler deployment operate",
		4: "topology available topology's",
	} {
		for word := range strings.FieldsSeq(words) {
			if got := pages.Syllables(word); got != count {
				t.Errorf("%q has %d syllables, want %d", word, got, count)
			}
		}
	}
}

func TestReadingEase(t *testing.T) {
	plain := pages.ReadingEase(pages.Sentences([]byte("The pod waits.\nAdd a node.\nThen it runs.\n")))
	hard := pages.ReadingEase(pages.Sentences([]byte(
		"Heterogeneous infrastructure necessitates considerable organizational deliberation and documentation.\n")))
	if plain < 90 || hard > 10 {
		t.Errorf("plain text has %.0f, hard text %.0f", plain, hard)
	}
}
