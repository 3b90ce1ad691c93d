package explain

import (
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// report is what is said of a search.
type report struct {
	*search.Search
	// terse is set if nobody wants to know why.
	terse bool
	// certificate proves the verdict Infeasible, unless terse. refuted says that the search
	// came to that verdict, whether or not it is proved.
	certificate *certificate.Proof
	refuted     bool
}

// Of says what a search has found. Without terse it proves that a gang has no place, or says that nobody knows.
func Of(found *search.Search, gang *problem.Gang, terse bool) Decision {
	r := &report{Search: found, terse: terse}
	if !terse && (r.Verdict == search.Infeasible || r.Verdict == search.Unknown) {
		r.certify(gang)
	}
	return r.answer()
}
