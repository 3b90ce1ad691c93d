package search

// Verdict is the answer to "can this gang run now?".
type Verdict string

// The verdicts of Decide.
const (
	// Placed: all minima have nodes; further pods that fit have too.
	Placed Verdict = "Placed"
	// Infeasible: it is proved that no assignment exists on the current cluster.
	Infeasible Verdict = "Infeasible"
	// Unknown: the budget ran out before an answer.
	Unknown Verdict = "Unknown"
	// Incomplete: the gang has fewer pods than its minima ask for.
	Incomplete Verdict = "Incomplete"
	// Invalid: the gang contradicts itself or names what does not exist.
	Invalid Verdict = "Invalid"
)
