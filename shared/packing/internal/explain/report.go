package explain

import (
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// report is what is said of a search.
type report struct {
	*search.Search
	// terse leaves out explanations.
	terse bool
	// certificate proves the verdict Infeasible, unless terse. refuted says that the search
	// came to that verdict, whether or not it is proved.
	certificate *certificate.Proof
	refuted     bool
}

// Of is the decision that a search has come to. Without terse it looks for a proof that the gang has no place, and
// answers Unknown if there is none.
func Of(found *search.Search, gang *problem.Gang, terse bool) Decision {
	r := &report{Search: found, terse: terse}
	if !terse && (r.Verdict == search.Infeasible || r.Verdict == search.Unknown) {
		r.certify(gang)
	}
	return r.answer()
}
