package pages

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Replaced reads a glossary: the words of the column "replaces" in its tables, each with the word that is used instead.
// Several words in one cell are separated by commas. The error names the line.
func Replaced(glossary []byte) (map[string]string, error) {
	replaced := map[string]string{}
	column := -1
	for i, line := range strings.Split(string(glossary), "\n") {
		if !strings.HasPrefix(line, "|") {
			column = -1
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if column < 0 {
			if column = len(cells) - 1; strings.TrimSpace(cells[column]) != "replaces" {
				return nil, fmt.Errorf("line %d: the last column of a glossary is headed \"replaces\"", i+1)
			}
			continue
		}
		// An empty last cell was trimmed.
		if len(cells) <= column {
			continue
		}
		for word := range strings.SplitSeq(cells[column], ",") {
			word = strings.ToLower(strings.TrimSpace(word))
			if word == "" || strings.Trim(word, "-") == "" {
				continue
			}
			if other, twice := replaced[word]; twice {
				return nil, fmt.Errorf("line %d: %q is replaced already, by %q", i+1, word, other)
			}
			replaced[word] = strings.TrimSpace(cells[0])
		}
	}
	return replaced, nil
}

var letters = regexp.MustCompile(`\p{L}+`)

// Text is a text as a list of words, in which many phrases can be looked up.
type Text struct {
	words  map[string]bool
	spoken string
}

// ReadText reads the words of a text, including those of names in camel case: "bypassLedger" has three. Neither case
// nor the characters between the words matter, so that a comment may be broken anywhere.
func ReadText(text string) Text {
	words := map[string]bool{}
	var spoken strings.Builder
	for _, run := range letters.FindAllString(text, -1) {
		lower := strings.ToLower(run)
		words[lower] = true
		spoken.WriteString(" " + lower)
		start := 0
		for i, r := range run {
			if i > start && unicode.IsUpper(r) {
				words[strings.ToLower(run[start:i])] = true
				start = i
			}
		}
		words[strings.ToLower(run[start:])] = true
	}
	return Text{words, spoken.String() + " "}
}

// Has reports whether a word, or several in a row, are in the text.
func (t Text) Has(phrase string) bool {
	return t.words[phrase] || strings.Contains(phrase, " ") && strings.Contains(t.spoken, " "+phrase+" ")
}
