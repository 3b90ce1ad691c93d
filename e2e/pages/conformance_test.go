package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	shownByTest = regexp.MustCompile("`([^`]+?): ([^`]+)`")
	shownByPage = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
)

// TestConformance checks docs/conformance.md: its rows are numbered, and have a proof that exists: a test, by its name
// or by words in the file, or a page.
func TestConformance(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		number, err := strconv.Atoi(strings.TrimSpace(cells[0]))
		if !strings.HasPrefix(line, "|") || err != nil {
			continue // Text, or the head of a table.
		}
		if rows++; number != rows || len(cells) != 3 {
			t.Fatalf("row %d is not a number, a statement and what shows it: %s", rows, line)
		}
		tests, pages := shownByTest.FindAllStringSubmatch(cells[2], -1), shownByPage.FindAllStringSubmatch(cells[2], -1)
		if len(tests)+len(pages) == 0 {
			t.Errorf("%d: nothing shows that %s", number, cells[1])
		}
		for _, test := range tests {
			source, err := os.ReadFile(filepath.Join(root, test[1]))
			words := `"` + test[2]
			if strings.HasPrefix(test[2], "Test") && !strings.Contains(test[2], " ") {
				words = "func " + test[2] + "("
			}
			if err != nil || !strings.HasSuffix(test[1], "_test.go") || !strings.Contains(string(source), words) {
				t.Errorf("%d (%s): %s has no test %q", number, cells[1], test[1], test[2])
			}
		}
		for _, page := range pages {
			if _, err := os.Stat(filepath.Join(root, "docs", page[1])); err != nil {
				t.Errorf("%d (%s): there is no page %s", number, cells[1], page[1])
			}
		}
	}
	if rows < 200 {
		t.Errorf("only %d statements: is the page read?", rows)
	}
}
