package pages

import (
	"fmt"
	"strings"
)

// Mark is how a page tells its test what to do with the block below, in a comment that readers do not see. The zero value leaves it to
// the language of the block.
type Mark struct {
	// How is one of the constants below.
	How How
	// Detail is what stands behind the colon.
	Detail string
}

// How a block is tried.
type How string

const (
	// ByLanguage is a block without a mark.
	ByLanguage How = ""
	// NotRun is a block that cannot be tried; the detail says why.
	NotRun How = "not run"
	// PartOf is a part of a manifest: it is laid over an example, and the whole is applied. The detail is "FILE" or "FILE PATH": the
	// example, and where in its first object the part belongs.
	PartOf How = "part of"
	// ValuesOf is a file of values for the chart in the detail.
	ValuesOf How = "values of"
	// InputOf is what the command in the detail reads from standard input, and accepts.
	InputOf How = "input of"
)

// savedAs is a block that later commands of the page find as the file that the detail names. It says nothing of how the block is tried.
const savedAs How = "saved as"

var hows = []How{NotRun, PartOf, ValuesOf, InputOf, savedAs}

// parseMark reads a comment. Comments that have nothing to do with tests are no marks.
func parseMark(comment string) (Mark, error) {
	said, detail, colon := strings.Cut(comment, ":")
	if !colon {
		said = comment
	}
	for _, how := range hows {
		if strings.TrimSpace(said) != string(how) {
			continue
		}
		detail = strings.TrimSpace(detail)
		if detail == "" {
			return Mark{}, fmt.Errorf("the comment %q has to say more: \"%s: …\"", comment, how)
		}
		return Mark{How: how, Detail: detail}, nil
	}
	return Mark{}, fmt.Errorf("the comment %q above a block of code is no mark: write %q, %q, %q, %q or %q, and a colon",
		comment,
		NotRun, PartOf, ValuesOf, InputOf, savedAs)
}
