package pages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/pages"
)

const conformance = "# Conformance\n\n12 rows.\n\n" +
	"| | it says | shown by |\n|---|---|---|\n" +
	"| 1 | gangs are whole | `a/b_test.go: TestGangs`, `c_test.go: stand | or wait` |\n" +
	"| 2 | labels are needed | `a/b_test.go: names them`, [which](guide.md#labels) |\n"

func TestStatements(t *testing.T) {
	got, err := pages.Statements([]byte(strings.Replace(conformance, "stand | or wait", "stand or wait", 1)))
	require.NoError(t, err)
	want := []pages.Statement{
		{Number: 1, Text: "gangs are whole",
			Tests: []pages.ShownBy{{File: "a/b_test.go", Words: "TestGangs"},
				{File: "c_test.go", Words: "stand or wait"}}},
		{Number: 2, Text: "labels are needed", Tests: []pages.ShownBy{{File: "a/b_test.go", Words: "names them"}},
			Pages: []string{"guide.md#labels"}},
	}
	assert.Empty(t, cmp.Diff(want, got), "statements (-want +got)")
}

func TestStatementsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ page, says string }{
		"a bar in a cell": {conformance,
			"line 7: a row has a number, a statement and what shows it, not 4 cells"},
		"a row that is missing": {"| 1 | a | [x](x.md) |\n| 3 | b | [x](x.md) |",
			"line 2: the row after 1 is numbered 3"},
		"a statement without a showing": {"| 1 | gangs are whole | everybody knows |",
			"line 1: nothing shows that gangs are whole"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := pages.Statements([]byte(c.page)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v; want an error that says %q", err, c.says)
			}
		})
	}
}

func TestShownByIsFoundInItsFile(t *testing.T) {
	const source = "func TestGangs(t *testing.T) {\n\tIt(\"waits for room\", func() {})\n}\n\nfunc TestGangsOfMany(t " +
		"*testing.T) {}\n"
	for words, want := range map[string]bool{
		"TestGangs": true, "TestGangsOfMany": true, "TestGang": false, "waits for room": true, "waits": true,
		"for room": false, "TestOthers": false,
	} {
		if got := (pages.ShownBy{Words: words}).In(source); got != want {
			t.Errorf("%q is found: %t, want %t", words, got, want)
		}
	}
}

// TestConformance checks docs/conformance.md: the proof in each row exists.
func TestConformance(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	require.NoError(t, err)
	statements, err := pages.Statements(page)
	if err != nil {
		t.Fatalf("docs/conformance.md: %v", err)
	}
	if len(statements) < 200 {
		t.Errorf("only %d statements: is the page read?", len(statements))
	}
	for _, statement := range statements {
		for _, shown := range statement.Tests {
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(shown.File)))
			switch {
			case err != nil || !strings.HasSuffix(shown.File, "_test.go"):
				t.Errorf("%d (%s): there is no test file %s", statement.Number, statement.Text, shown.File)
			case !shown.In(string(source)):
				t.Errorf("%d (%s): %s has no test %q", statement.Number, statement.Text, shown.File, shown.Words)
			}
		}
		for _, destination := range statement.Pages {
			file, _, _ := strings.Cut(destination, "#")
			if _, err := os.Stat(filepath.Join(root, "docs", filepath.FromSlash(file))); err != nil {
				t.Errorf("%d (%s): there is no page %s", statement.Number, statement.Text, file)
			}
		}
	}
}
