package events

import (
	"fmt"
	"strings"
)

// longest is how many bytes the API server takes for a note.
const longest = 1024

// shorten formats a note and cuts what is too long at a whole character: the API server refuses a longer one.
func shorten(note string, args ...any) string {
	text := fmt.Sprintf(note, args...)
	if len(text) <= longest {
		return text
	}
	const dots = "…"
	return strings.ToValidUTF8(text[:longest-len(dots)], "") + dots
}
