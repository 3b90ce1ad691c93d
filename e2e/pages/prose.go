package pages

import (
	"bytes"
	"regexp"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var (
	codeSpan = regexp.MustCompile("`+[^`]+`+")
	// sentenceEnd matches where one sentence ends and another begins; a code span may begin one.
	sentenceEnd   = regexp.MustCompile("[^.][.?!][\"')\\]*]*[ \t]+[\"(\\[*]*[A-Z0-9`]")
	abbreviations = [][]byte{[]byte("e.g"), []byte("i.e"), []byte("vs"), []byte("etc"), []byte("cf")}
)

// Crowded returns the lines of a page, from 1, on which a sentence begins after another one. Code, tables and headings
// are no prose.
func Crowded(source []byte) (lines []int) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	_ = ast.Walk(markdown.Parser().Parse(text.NewReader(source)),
		func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			switch node.(type) {
			case *ast.Paragraph, *ast.TextBlock:
				for i := 0; entering && i < node.Lines().Len(); i++ {
					line := node.Lines().At(i)
					if holdsTwo(line.Value(source)) {
						lines = append(lines, 1+bytes.Count(source[:line.Start], []byte("\n")))
					}
				}
			}
			return ast.WalkContinue, nil
		})
	return lines
}

// holdsTwo reports whether a sentence begins on a line after another one.
func holdsTwo(line []byte) bool {
	line = codeSpan.ReplaceAllFunc(line, func(span []byte) []byte { return bytes.Repeat([]byte("`"), len(span)) })
	for _, at := range sentenceEnd.FindAllIndex(line, -1) {
		if !endsInAbbreviation(line[:at[0]+1]) {
			return true
		}
	}
	return false
}
