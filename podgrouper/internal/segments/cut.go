package segments

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// cut says how a leaf is divided.
type cut struct {
	// one reports whether all pods are one segment, whatever their index.
	one     bool
	size    int32
	indexed grouping.Indexed
}

// decide returns how to divide a leaf of a workload of some kind, and why that differs from what the user wants.
func decide(kind string, indexed *grouping.Indexed, w wish) (cut, field.ErrorList) {
	if w.size == 0 {
		return cut{one: true}, nil
	}
	invalid := func(format string, arguments ...any) (cut, field.ErrorList) {
		reason := fmt.Sprintf(format, arguments...) + asOne
		return cut{one: true}, field.ErrorList{field.Invalid(w.path, strconv.Itoa(int(w.size)), reason)}
	}
	switch {
	case indexed == nil:
		return invalid("these pods of the %s carry no index: remove the annotation", kind)
	case indexed.Obstacle != "":
		return invalid("%s", indexed.Obstacle)
	case quotient(indexed.Pods, w.size) > grouping.MostSubGroups:
		return invalid("%d pods would make more segments than the %d that a PodGroup holds: make it %d or more",
			indexed.Pods, grouping.MostSubGroups, quotient(indexed.Pods, grouping.MostSubGroups))
	}
	return cut{size: w.size, indexed: *indexed}, nil
}

// divides reports whether there is anything to divide: pods and, if all of them are one segment, a level for it.
func (c cut) divides(w wish) bool {
	if c.one {
		return w.constraint.HasLevel()
	}
	return c.indexed.Pods > 0
}

// minima returns how many pods each segment needs together, how many segments are needed together so that as many
// pods as the leaf needs start, and what is wrong with these numbers. A segment starts as a whole, except pods that
// are done and pods that do not run at the same time. Left is how many pods are not done, nil if all.
func (c cut) minima(needed int32, left *int32) (segments []int32, together int32, wrong string) {
	if left != nil {
		needed = min(needed, *left)
	}
	if c.one {
		return []int32{needed}, min(needed, 1), ""
	}
	pods, atATime := c.indexed.Pods, c.indexed.AtATime
	if atATime == 0 || atATime > pods {
		atATime = pods
	}
	for from := int32(0); from < pods; from += min(c.size, pods-from) {
		to := from + min(c.size, pods-from)
		segments = append(segments, max(0, min(c.minimum(from, to, left), atATime)))
	}
	together = c.together(needed, atATime)
	if asked := grouping.Product(together, c.size); atATime < pods && c.size <= atATime && asked > atATime {
		wrong = fmt.Sprintf(
			"the %d pods that start together are %d whole segments, which is %d pods, and at most %d run at a time, "+
				"so that they will never start: let as many run at a time, or let fewer start together",
			needed, together, asked, atATime)
	}
	return segments, together, wrong
}

// minimum returns how many of the indices from, up to but without to, surely need pods together. For some kinds it is
// not known which pods are done: then all of these may be done.
func (c cut) minimum(from, to int32, left *int32) int32 {
	minimum := to - from
	switch {
	case c.indexed.Done != nil:
		minimum -= c.indexed.Done(from, to)
	case left != nil:
		minimum -= c.indexed.Pods - *left
	}
	if c.indexed.InTurn {
		return min(minimum, 1)
	}
	return minimum
}

// expected returns how many of the leaf's expected pods are in each segment; nil if that is not known. If not all pods
// run at the same time, those with the least index come first. Left is how many pods are not done, which says nothing
// about a single segment.
func (c cut) expected(leaf, left *int32) []*int32 {
	if c.one {
		if leaf != nil && left != nil {
			leaf = new(min(*leaf, *left))
		}
		return []*int32{leaf}
	}
	var segments []*int32
	for from := int32(0); from < c.indexed.Pods; from += min(c.size, c.indexed.Pods-from) {
		to := from + min(c.size, c.indexed.Pods-from)
		pods := to - from
		if c.indexed.Done != nil {
			pods -= c.indexed.Done(from, to)
		}
		if leaf != nil {
			pods = min(pods, *leaf)
			leaf = new(*leaf - pods)
		}
		segments = append(segments, &pods)
	}
	return segments
}

// together returns how many segments hold as many pods as are needed. If all segments run at the same time, any of them
// may start; the last one can be short, so it is counted in. Otherwise they start in the order of their index.
func (c cut) together(needed, atATime int32) int32 {
	pods := c.indexed.Pods
	short := pods % c.size
	switch {
	case needed <= 0:
		return 0
	case needed > pods:
		// More than there are. It must never start: the grouper that read the number has warned the user.
		return quotient(pods, c.size) + 1
	case short == 0 || atATime < pods:
		return quotient(needed, c.size)
	default:
		return 1 + quotient(max(needed-short, 0), c.size)
	}
}

// quotient rounds up.
func quotient(a, b int32) int32 {
	return int32((int64(a) + int64(b) - 1) / int64(b))
}
