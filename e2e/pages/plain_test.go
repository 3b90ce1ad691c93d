package pages

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
		sentences := sentencesOf(all[page])
		for _, sentence := range sentences {
			if word := forbidden.FindString(sentence.text); word != "" {
				t.Errorf("%s:%d: name the thing instead of %q: %s", page, sentence.line, word, sentence.text)
			}
		}
		if strings.Contains(page, "/") && !strings.HasPrefix(page, "docs/") {
			continue
		}
		for _, line := range crowded(all[page]) {
			t.Errorf("%s:%d has more than one sentence: begin each on a line of its own", page, line)
		}
		if generated(page) {
			continue
		}
		for _, sentence := range sentences {
			if count := len(wordsOf(sentence.text)); count > longestSentence {
				t.Errorf("%s:%d: a sentence of %d words: %s", page, sentence.line, count, sentence.text)
			}
		}
		length := strings.Count(string(all[page]), "\n")
		if length > longestPage {
			t.Errorf("%s has %d lines: split it by topic", page, length)
		}
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/examples/") {
			lines += length
		}
		prose := slices.DeleteFunc(sentences, func(s sentence) bool { return !s.prose })
		if guide(page) {
			ease := readingEase(prose)
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
