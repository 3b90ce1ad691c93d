package live

import (
	"slices"
	"strings"
)

// silences are what kubectl and the API server say where a request had no answer: no operator was there for a webhook, or
// none of them was fast enough on a machine that does other things too.
var silences = []string{
	"failed calling webhook", "conversion webhook for", "request did not complete within requested timeout",
	"context deadline exceeded", "Client.Timeout exceeded",
}

// Unanswered reports whether what a command said means that it may be given again, as a user would.
func Unanswered(said string) bool {
	return slices.ContainsFunc(silences, func(silence string) bool { return strings.Contains(said, silence) })
}
