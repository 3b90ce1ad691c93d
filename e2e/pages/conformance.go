package pages

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Statement is one row of a page of statements and their tests.
type Statement struct {
	// Number of the row, from 1.
	Number int
	// Text of the statement.
	Text string
	// Tests prove it, and Pages are the targets of links to pages that say it; there is at least one of either.
	Tests []ShownBy
	Pages []string
}

// ShownBy is a test.
type ShownBy struct {
	// File is its path below the root of the repository.
	File string
	// Words are the name of a Go test, or words in the file.
	Words string
}

// In reports whether the source of the file has the test.
func (s ShownBy) In(source string) bool {
	if strings.HasPrefix(s.Words, "Test") && !strings.Contains(s.Words, " ") {
		return strings.Contains(source, "func "+s.Words+"(")
	}
	return strings.Contains(source, `"`+s.Words)
}

var (
	test = regexp.MustCompile("`([^`]+?): ([^`]+)`")
	link = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// Statements reads the rows of a page's tables, which have a number, a statement, and its proof. The error names the
// line.
func Statements(page []byte) ([]Statement, error) {
	var all []Statement
	for i, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		number, err := strconv.Atoi(strings.TrimSpace(cells[0]))
		if !strings.HasPrefix(line, "|") || err != nil {
			continue // Text, or the head of a table.
		}
		if len(cells) != 3 {
			return nil, fmt.Errorf("line %d: a row has a number, a statement and what shows it, not %d cells",
				i+1, len(cells))
		}
		if number != len(all)+1 {
			return nil, fmt.Errorf("line %d: the row after %d is numbered %d", i+1, len(all), number)
		}
		statement := Statement{Number: number, Text: cells[1]}
		for _, found := range test.FindAllStringSubmatch(cells[2], -1) {
			statement.Tests = append(statement.Tests, ShownBy{File: found[1], Words: found[2]})
		}
		for _, found := range link.FindAllStringSubmatch(cells[2], -1) {
			statement.Pages = append(statement.Pages, found[1])
		}
		if len(statement.Tests)+len(statement.Pages) == 0 {
			return nil, fmt.Errorf("line %d: nothing shows that %s", i+1, cells[1])
		}
		all = append(all, statement)
	}
	return all, nil
}
