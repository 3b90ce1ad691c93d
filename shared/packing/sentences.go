package packing

import (
	"fmt"
	"strings"
)

// misfitSentence tells why a group that needs room has none.
func (d *decision) misfitSentence(i int, e *Explanation) string {
	var b strings.Builder
	who := named(d.p.groups[i].source)
	if d.verdict == Unknown {
		fmt.Fprintf(&b, "the search for a place gave up after %d steps; ", d.budget)
	}
	switch {
	case len(e.Domain) == 0:
		fmt.Fprintf(&b, "%s: %d of %d pods fit into the cluster", who, e.Fit, e.Wanted)
	case d.p.groups[i].required == none:
		fmt.Fprintf(&b, "%s is tied to %s %s: %d of %d pods fit", who, e.Level, e.Domain, e.Fit, e.Wanted)
	default:
		fmt.Fprintf(&b, "%s needs one %s, and the nearest is %s: %d of %d pods fit", who, e.Level, e.Domain, e.Fit, e.Wanted)
	}
	b.WriteString(shortText(e))
	return b.String()
}

// waitingSentence tells why pods beyond the minimum wait.
func (d *decision) waitingSentence(i int, e *Explanation) string {
	where := "the cluster"
	if len(e.Domain) > 0 {
		where = fmt.Sprintf("%s %s", e.Level, e.Domain)
	}
	return fmt.Sprintf("%s: %d pods beyond the minimum wait, since %s has no room for more%s",
		named(d.p.groups[i].source), e.Wanted, where, shortText(e))
}

func shortText(e *Explanation) string {
	var b strings.Builder
	for k, s := range e.Short {
		if k == 0 {
			b.WriteString(", short of ")
		} else {
			b.WriteString(" and ")
		}
		fmt.Fprintf(&b, "%d %s", s.Amount, s.Resource)
	}
	if len(e.Short) == 0 && e.Fit < e.Wanted {
		b.WriteString(", what is free is split over nodes or domains too small")
	}
	for _, x := range e.Excluded {
		plural := "s"
		if x.Nodes == 1 {
			plural = ""
		}
		fmt.Fprintf(&b, "; %d node%s excluded by %s", x.Nodes, plural, x.Reason)
	}
	return b.String()
}
