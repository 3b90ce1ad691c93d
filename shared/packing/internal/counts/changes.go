package counts

// changeLog lists the changed nodes, so that the counts of a shape catch up when they are next asked for. A shape that
// is never asked for costs nothing.
type changeLog struct {
	// base is the position of entries[0] in all that was ever logged.
	base    int
	entries []int32
}

// add logs a change of a node; nodes is the size of the cluster. The log is dropped once it is much longer than the
// cluster is large: counts that are so far behind are cheaper to compute anew. O(1) amortised.
func (l *changeLog) add(node int32, nodes int) {
	if len(l.entries) > 2*nodes+1024 {
		l.base += len(l.entries)
		l.entries = l.entries[:0]
	}
	l.entries = append(l.entries, node)
}

func (l *changeLog) end() int { return l.base + len(l.entries) }

// since gives the nodes that changed from a position on; false when they are
// forgotten.
func (l *changeLog) since(position int) ([]int32, bool) {
	if position < l.base {
		return nil, false
	}
	return l.entries[position-l.base:], true
}
