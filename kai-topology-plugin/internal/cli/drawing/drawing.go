// Package drawing puts colours, bars and aligned columns on a terminal, and plain text everywhere else.
package drawing

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"
	"k8s.io/component-base/term"
)

// When says when to use colours.
type When string

// The values of --color.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// Pen draws for one output.
type Pen struct {
	// Columns is the width of the terminal; 0 if the output is none, and nothing needs to be shortened.
	Columns int
	// Bars are drawn on terminals, and wherever colours are.
	Bars    bool
	colours bool
}

// For returns the pen for an output. Colours are used on terminals, unless NO_COLOR is set or TERM is dumb, or when
// says so.
func For(output io.Writer, when When) (*Pen, error) {
	pen := &Pen{}
	if width, _, err := term.TerminalSize(output); err == nil && width > 0 {
		pen.Columns, pen.Bars = width, true
	}
	switch when {
	case Auto:
		pen.colours = pen.Columns > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case Always:
		pen.colours, pen.Bars = true, true
	case Never:
	default:
		return nil, fmt.Errorf("--color is auto, always or never, not %q", when)
	}
	return pen, nil
}

func (p *Pen) paint(text string, attributes ...color.Attribute) string {
	if !p.colours || text == "" {
		return text
	}
	paint := color.New(attributes...)
	paint.EnableColor()
	return paint.Sprint(text)
}

// Bold is for what stands out.
func (p *Pen) Bold(text string) string { return p.paint(text, color.Bold) }

// Dim is for what may be overlooked.
func (p *Pen) Dim(text string) string { return p.paint(text, color.Faint) }

// Good is for what is as it should be.
func (p *Pen) Good(text string) string { return p.paint(text, color.FgGreen) }

// Bad is for what is in the way.
func (p *Pen) Bad(text string) string { return p.paint(text, color.FgRed) }

// Careful is for text that needs attention.
func (p *Pen) Careful(text string) string { return p.paint(text, color.FgYellow) }

var palette = []color.Attribute{
	color.FgCyan, color.FgMagenta, color.FgBlue, color.FgHiGreen, color.FgHiYellow, color.FgHiMagenta, color.FgHiCyan,
	color.FgHiBlue,
}

// Own gives text the colour of a name, the same in every run, so that the eye finds it again.
func (p *Pen) Own(name, text string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name)) // A hash never fails.
	return p.paint(text, palette[hash.Sum32()%uint32(len(palette))])
}

// Bar shows how much of a whole is used and how much cannot be. What is not nothing has a cell at least.
func (p *Pen) Bar(used, unavailable, total float64, cells int) string {
	if !p.Bars || total <= 0 {
		return ""
	}
	filled := share(used, total, cells)
	out := min(share(unavailable, total, cells), cells-filled)
	if free := total - used - unavailable; free > 0 && filled+out == cells && cells > 1 {
		if filled >= out {
			filled--
		} else {
			out--
		}
	}
	return p.paint(strings.Repeat("█", filled), color.FgCyan) +
		p.paint(strings.Repeat("▒", out), color.FgYellow) +
		p.Dim(strings.Repeat("░", cells-filled-out))
}

func share(part, total float64, cells int) int {
	if part <= 0 {
		return 0
	}
	return min(cells, max(1, int(math.Round(part/total*float64(cells)))))
}

// escape matches what sets colours.
var escape = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Width counts what is seen of a text.
func Width(text string) int { return utf8.RuneCountInString(escape.ReplaceAllString(text, "")) }

// Wrap breaks a text between words where the terminal ends. The first line begins with first, all others with rest.
func (p *Pen) Wrap(first, rest, text string) string {
	const least = 20
	if p.Columns == 0 || p.Columns-Width(rest) < least {
		return first + text + "\n"
	}
	var b strings.Builder
	b.WriteString(first)
	width := Width(first)
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case width+1+Width(word) > p.Columns:
			b.WriteString("\n" + rest)
			width = Width(rest)
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += Width(word)
	}
	return b.String() + "\n"
}

// Pad fills a text up to a width.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// Shorten cuts a text, without colours yet, to a width.
func Shorten(text string, width int) string {
	if Width(text) <= width || width < 1 {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
