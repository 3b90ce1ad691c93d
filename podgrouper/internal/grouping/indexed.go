package grouping

import "strconv"

// Indexed says of the pods of a leaf that each carries an index, counted from 0, by which they can be divided into segments.
type Indexed struct {
	// Pods is how many indices there are.
	Pods int32
	// AtATime is how many of them have a pod at the same time; 0 if that is unknown, or if the workload is halted.
	AtATime int32
	// Done returns how many of the indices from, up to but without to, need a pod no more. Nil means that all need one.
	Done func(from, to int32) int32
	// InTurn says that some pods are made only when others of the leaf are ready, so that no two can be waited for together.
	InTurn bool
	// Obstacle says why they cannot be divided after all, and what would have to change. Empty means that they can.
	Obstacle string
}

// ParseIndex returns the index that a label or annotation of a pod holds, and false if that is none.
func ParseIndex(value string) (int32, bool) {
	index, err := strconv.ParseInt(value, 10, 32)
	return int32(index), err == nil && index >= 0
}
