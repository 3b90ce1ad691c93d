package live

import (
	"slices"
	"strings"
)

// silences are messages of kubectl and the API server about requests without an answer: no operator was there for a
// webhook, or none was fast enough on a busy machine; or the API server was late itself.
var silences = []string{
	"failed calling webhook", "conversion webhook for", "request did not complete within requested timeout",
	"context deadline exceeded", "Client.Timeout exceeded",
	"no PriorityClass with name", // The API server hears of those later than of pods that were made after them.
}

// Unanswered reports whether a command may be repeated after this output, as a user would.
func Unanswered(said string) bool {
	return slices.ContainsFunc(silences, func(silence string) bool { return strings.Contains(said, silence) })
}
