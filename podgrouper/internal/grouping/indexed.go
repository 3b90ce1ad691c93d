package grouping

import "strconv"

// Indexed is about the pods of a leaf that have an index each, counted from 0, by which they can be divided into
// segments.
type Indexed struct {
	// Pods is how many indices there are.
	Pods int32
	// AtATime is how many of them have a pod at the same time; 0 if that is unknown, or if the workload is suspended.
	AtATime int32
	// Done returns how many of the indices from, up to but without to, no longer need a pod. Nil means that all need
	// one.
	Done func(from, to int32) int32
	// InTurn reports whether some pods are made only when others of the leaf are ready, so that no two can be needed
	// together.
	InTurn bool
	// Obstacle says why the pods cannot be divided after all, and what would have to change. Empty means that they can
	// be.
	Obstacle string
}

// ParseIndex returns the index in a label or annotation of a pod, and false if it is none.
func ParseIndex(value string) (int32, bool) {
	index, err := strconv.ParseInt(value, 10, 32)
	return int32(index), err == nil && index >= 0
}
