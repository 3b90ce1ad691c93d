package pages

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Sentence is one sentence of a page. A code span in it is the one word "code".
type Sentence struct {
	Text string
	// Line is that of its paragraph, list item or table cell, from 1.
	Line int
	// Cell is set for the text of a table cell, and Heading for a heading.
	Cell, Heading bool
}

// Sentences returns the sentences of a page: of paragraphs, list items, table cells and headings. Blocks of code and
// comments have none.
func Sentences(source []byte) []Sentence {
	var all []Sentence
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	_ = ast.Walk(markdown.Parser().Parse(text.NewReader(source)),
		func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			_, cell := node.(*extensionast.TableCell)
			_, heading := node.(*ast.Heading)
			switch node.(type) {
			case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *extensionast.TableCell:
				for _, sentence := range split(spoken(node, source)) {
					all = append(all, Sentence{sentence, lineOf(node, source), cell, heading})
				}
				return ast.WalkSkipChildren, nil
			}
			return ast.WalkContinue, nil
		})
	return all
}

// spoken is the text of a node as it is read: without markup, destinations of links and code.
func spoken(node ast.Node, source []byte) string {
	var words bytes.Buffer
	_ = ast.Walk(node, func(child ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch child := child.(type) {
		case *ast.CodeSpan:
			words.WriteString("code")
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			words.Write(child.Segment.Value(source))
			if child.SoftLineBreak() || child.HardLineBreak() {
				words.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

var between = regexp.MustCompile(`[.?!:]["')]*\s+`)

// split divides a text into sentences. A colon ends one, and an abbreviation does not.
func split(whole string) []string {
	var all []string
	start := 0
	for _, at := range between.FindAllStringIndex(whole, -1) {
		if before := []byte(whole[start:at[0]]); endsInAbbreviation(before) || len(Words(whole[start:at[0]])) == 0 {
			continue
		}
		all = append(all, strings.TrimSpace(whole[start:at[1]]))
		start = at[1]
	}
	if rest := strings.TrimSpace(whole[start:]); len(Words(rest)) > 0 {
		all = append(all, rest)
	}
	return all
}

func endsInAbbreviation(before []byte) bool {
	for _, word := range abbreviations {
		if bytes.HasSuffix(before, word) {
			return true
		}
	}
	return false
}

var word = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'’.,%-]*`)

// Words returns the words of a text.
func Words(of string) []string { return word.FindAllString(of, -1) }

// ReadingEase is Flesch's score of a text, 206.835 - 1.015 words/sentences - 84.6 syllables/words: above 60 is plain
// English, below 30 is for specialists.
func ReadingEase(sentences []Sentence) float64 {
	words, syllables := 0, 0
	for _, sentence := range sentences {
		for _, word := range Words(sentence.Text) {
			words++
			syllables += Syllables(word)
		}
	}
	return 206.835 - 1.015*float64(words)/float64(len(sentences)) - 84.6*float64(syllables)/float64(words)
}

var (
	vowels = regexp.MustCompile(`[aeiouy]+`)
	// silent are endings that are not spoken: "named", "place", but "needed", "table".
	silent = regexp.MustCompile(`([^aeiouydt]|[aeiouy][^aeiouydt])ed$|[^aeiouyl]es?$|[aeiouy]les?$`)
	// spokenEs are endings with a vowel that is spoken: "places", "changes", "boxes".
	spokenEs = regexp.MustCompile(`(s|x|z|c|g|sh|ch)es$`)
)

// Syllables estimates how many syllables an English word has: its groups of vowels, except a silent e at its end.
func Syllables(word string) int {
	word = strings.ToLower(strings.Trim(word, ".,%'’-"))
	count := len(vowels.FindAllString(word, -1))
	if silent.MatchString(word) && !spokenEs.MatchString(word) {
		count--
	}
	return max(count, 1)
}
