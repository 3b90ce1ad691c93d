package manifests

import (
	"bytes"
	"regexp"
)

// versionDirective may be above a document's separator.
var versionDirective = regexp.MustCompile(`^%YAML\s`)

// withPlainSeparators returns YAML with separators that the reader accepts: it allows only a comment behind the three
// dashes, and no directive above them, while YAML allows more.
func withPlainSeparators(content []byte) []byte {
	plain := make([]byte, 0, len(content))
	begun := false // The current document has content.
	for line := range bytes.Lines(content) {
		rest, separator := bytes.CutPrefix(line, []byte("---"))
		trimmed := bytes.TrimSpace(rest)
		switch {
		case separator && (len(trimmed) == 0 || trimmed[0] == '#'):
			begun = false
		case separator && (rest[0] == ' ' || rest[0] == '\t'):
			plain, line = append(plain, "---\n"...), bytes.TrimLeft(rest, " \t")
			begun = true
		case !begun && versionDirective.Match(line):
			continue
		case bytes.HasPrefix(line, []byte("...")):
			begun = false
		case len(trimmed) > 0 && trimmed[0] != '#':
			begun = true
		}
		plain = append(plain, line...)
	}
	return plain
}
