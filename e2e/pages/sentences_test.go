package pages

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// sentence is one sentence of a page. A code span in it is the one word "code".
type sentence struct {
	text string
	// line is that of its paragraph, list item or table cell, from 1.
	line int
	// prose is set unless it is in a table or a heading.
	prose bool
}

// eachText calls for paragraphs and list items, which are prose, table cells and headings. Blocks of code and comments
// have no text.
func eachText(source []byte, call func(node ast.Node, prose bool)) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	page := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(page, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		prose := false
		switch node.(type) {
		case *ast.Paragraph, *ast.TextBlock:
			prose = true
		case *ast.Heading, *extensionast.TableCell:
		default:
			return ast.WalkContinue, nil
		}
		if entering {
			call(node, prose)
		}
		return ast.WalkSkipChildren, nil
	})
}

func sentencesOf(source []byte) (all []sentence) {
	eachText(source, func(node ast.Node, prose bool) {
		for _, text := range split(spoken(node, source)) {
			all = append(all, sentence{text, lineOf(node, source), prose})
		}
	})
	return all
}

// spoken is the text of a node as it is read: without markup, destinations of links and code.
func spoken(node ast.Node, source []byte) string {
	var words bytes.Buffer
	_ = ast.Walk(node, func(child ast.Node, entering bool) (ast.WalkStatus, error) {
		switch child := child.(type) {
		case *ast.CodeSpan:
			if entering {
				words.WriteString("code")
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if !entering {
				break
			}
			words.Write(child.Segment.Value(source))
			if child.SoftLineBreak() || child.HardLineBreak() {
				words.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

var (
	word = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'’.,%-]*`)
	// between matches the end of a sentence, which a colon is too.
	between = regexp.MustCompile(`[.?!:]["')]*\s+`)
	// oneAfterAnother matches a sentence that begins on the line of another one; a code span may begin one.
	oneAfterAnother = regexp.MustCompile("[^.][.?!][\"')\\]*]*[ \t]+[\"(\\[*]*[A-Z0-9`]")
	codeSpan        = regexp.MustCompile("`+[^`]+`+")
	abbreviated     = regexp.MustCompile(`(e\.g|i\.e|vs|etc|cf)$`)
)

func wordsOf(text string) []string { return word.FindAllString(text, -1) }

func split(whole string) (all []string) {
	start := 0
	for _, at := range between.FindAllStringIndex(whole, -1) {
		if before := whole[start:at[0]]; !abbreviated.MatchString(before) && word.MatchString(before) {
			all, start = append(all, strings.TrimSpace(whole[start:at[1]])), at[1]
		}
	}
	if rest := strings.TrimSpace(whole[start:]); word.MatchString(rest) {
		all = append(all, rest)
	}
	return all
}

// crowded are the lines of a page, from 1, on which a sentence begins after another one: a diff is to show the
// sentences that changed.
func crowded(source []byte) (lines []int) {
	eachText(source, func(node ast.Node, prose bool) {
		for i := 0; prose && i < node.Lines().Len(); i++ {
			at := node.Lines().At(i)
			line := codeSpan.ReplaceAllFunc(at.Value(source), func(span []byte) []byte {
				return bytes.Repeat([]byte("`"), len(span))
			})
			if slices.ContainsFunc(oneAfterAnother.FindAllIndex(line, -1), func(found []int) bool {
				return !abbreviated.Match(line[:found[0]+1])
			}) {
				lines = append(lines, 1+bytes.Count(source[:at.Start], []byte("\n")))
			}
		}
	})
	return lines
}

// readingEase is Flesch's score of a text, 206.835 - 1.015 words/sentences - 84.6 syllables/words: above 60 is plain
// English, below 30 is for specialists.
func readingEase(sentences []sentence) float64 {
	words, all := 0, 0
	for _, sentence := range sentences {
		for _, word := range wordsOf(sentence.text) {
			words++
			all += syllables(word)
		}
	}
	return 206.835 - 1.015*float64(words)/float64(len(sentences)) - 84.6*float64(all)/float64(words)
}

var (
	vowels = regexp.MustCompile(`[aeiouy]+`)
	// silent are endings that are not spoken: "named", "place", but "needed", "table".
	silent = regexp.MustCompile(`([^aeiouydt]|[aeiouy][^aeiouydt])ed$|[^aeiouyl]es?$|[aeiouy]les?$`)
	// spokenEs are endings with a vowel that is spoken: "places", "changes", "boxes".
	spokenEs = regexp.MustCompile(`(s|x|z|c|g|sh|ch)es$`)
)

// syllables estimates how many an English word has: its groups of vowels, except a silent e at its end.
func syllables(word string) int {
	word = strings.ToLower(strings.Trim(word, ".,%'’-"))
	count := len(vowels.FindAllString(word, -1))
	if silent.MatchString(word) && !spokenEs.MatchString(word) {
		count--
	}
	return max(count, 1)
}

func TestSentences(t *testing.T) {
	const page = "# A title\n\nOne is here: a list.\nTwo, e.g. this\none, has `code. Go`. Three? Yes.\n\n" +
		"- Four v1.2.\n  Five ... A?\n\n| Six | |\n|---|---|\n| Seven. Eight | [nine](x.md) |\n\n" +
		"```\nNot this.\n```\n<!-- nor this -->\n"
	var got []string
	for _, sentence := range sentencesOf([]byte(page)) {
		got = append(got, sentence.text)
	}
	want := []string{"A title", "One is here:", "a list.", "Two, e.g. this one, has code.", "Three?", "Yes.",
		"Four v1.2.", "Five ...", "A?", "Six", "Seven.", "Eight", "nine"}
	if !slices.Equal(got, want) {
		t.Errorf("sentences %q, want %q", got, want)
	}
	if lines := crowded([]byte(page)); !slices.Equal(lines, []int{5}) {
		t.Errorf("lines with several sentences: %v", lines)
	}
}

func TestReadingEase(t *testing.T) {
	if plain := readingEase(sentencesOf([]byte("The pods placed wait.\nAdd nodes.\nThen it runs.\n"))); plain < 90 {
		t.Errorf("plain text has %.0f", plain)
	}
	if hard := readingEase(sentencesOf([]byte("Heterogeneous infrastructure necessitates considerable " +
		"organizational deliberation and documentation.\n"))); hard > 10 {
		t.Errorf("hard text has %.0f", hard)
	}
}
