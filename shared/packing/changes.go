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

func (l *changeLog) node(i int32)  { l.entries = append(l.entries, change{i, true}) }
func (l *changeLog) usage(i int32) { l.entries = append(l.entries, change{i, false}) }

func (l *changeLog) end() int { return l.base + len(l.entries) }

// since gives the changes from a position on; false when they are forgotten.
func (l *changeLog) since(position int) ([]change, bool) {
	if position < l.base {
		return nil, false
	}
	return l.entries[position-l.base:], true
}

// trim forgets everything once that is longer than limit: whoever is that far
// behind does better to count anew. O(1) amortised.
func (l *changeLog) trim(limit int) {
	if len(l.entries) > limit {
		l.base += len(l.entries)
		l.entries = l.entries[:0]
	}
}
