package gang

import (
	"cmp"
	"time"
)

// Rank orders the decisions: first the higher priority; then a gang that is partly bound, as a scheduler that died may
// leave it, since it can go nowhere else; then the older gang, then the name.
type Rank struct {
	Priority int32
	// Begun is set if pods of the gang stand, but not all that it needs.
	Begun bool
	// Since is when the gang was created, or when a pod without a gang was queued.
	Since time.Time
	// Gang is the zero value for a pod without a gang.
	Gang Key
}

// Compare is negative if r goes before other, and 0 only for members of one gang or for pods without a gang that were
// queued in one instant.
func (r Rank) Compare(other Rank) int {
	return cmp.Or(
		cmp.Compare(other.Priority, r.Priority),
		-CompareBools(r.Begun, other.Begun),
		r.Since.Compare(other.Since),
		cmp.Compare(r.Gang.Namespace, other.Gang.Namespace),
		cmp.Compare(r.Gang.Name, other.Gang.Name),
	)
}

// CompareBools orders false before true.
func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
