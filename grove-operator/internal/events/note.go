package events

import (
	"fmt"
	"strings"
)

// longest is the maximum size of a note in bytes, for the API server.
const longest = 1024

// shorten formats a note and cuts it at a whole character: the API server refuses longer ones.
func shorten(note string, args ...any) string {
	text := fmt.Sprintf(note, args...)
	if len(text) <= longest {
		return text
	}
	const dots = "…"
	return strings.ToValidUTF8(text[:longest-len(dots)], "") + dots
}
