package packing

// changeLog lists the nodes that changed, so that each shape's counts can catch
// up when they are next asked for. A shape that nobody asks for costs nothing.
type changeLog struct {
	// base is the position of entries[0] in all that was ever logged.
	base    int
	entries []change
}

// change is a node and whether more than its usage changed.
type change struct {
	node int32
	// eligibility says that filters may answer differently now.
	eligibility bool
}

// add logs a change in a cluster of so many nodes. It forgets everything once
// that is much longer than the cluster is large: whoever is that far behind does
// better to count anew. O(1) amortised.
func (l *changeLog) add(c change, nodes int) {
	if len(l.entries) > 2*nodes+1024 {
		l.base += len(l.entries)
		l.entries = l.entries[:0]
	}
	l.entries = append(l.entries, c)
}

func (l *changeLog) end() int { return l.base + len(l.entries) }

// since gives the changes from a position on; false when they are forgotten.
func (l *changeLog) since(position int) ([]change, bool) {
	if position < l.base {
		return nil, false
	}
	return l.entries[position-l.base:], true
}
