package pages

import (
	"fmt"
	"strings"
)

// Mark says how the block below is tested, in a comment that readers do not see. The zero value leaves that to the
// language of the block.
type Mark struct {
	// How is one of the constants below.
	How How
	// Detail is the text behind the colon.
	Detail string
}

// How a block is tested.
type How string

const (
	// ByLanguage is a block without a mark.
	ByLanguage How = ""
	// NotRun is a block that cannot be tested; the detail says why.
	NotRun How = "not run"
	// PartOf is a part of a manifest: it is laid over an example, and the whole is applied. The detail is "FILE" or
	// "FILE PATH": the example, and the path of the part in its first object.
	PartOf How = "part of"
	// ValuesOf is a file of values for the chart in the detail.
	ValuesOf How = "values of"
	// InputOf is input that the command in the detail reads from standard input, and accepts.
	InputOf How = "input of"
)

// savedAs is a block that later commands of the page read as the file in the detail. It does not say how the block is
// tested.
const savedAs How = "saved as"

var hows = []How{NotRun, PartOf, ValuesOf, InputOf, savedAs}

// parseMark reads a comment. Comments that are not about tests are no marks.
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
	return Mark{}, fmt.Errorf(
		"the comment %q above a block of code is no mark: write %q, %q, %q, %q or %q, and a colon", comment,
		NotRun, PartOf, ValuesOf, InputOf, savedAs)
}
