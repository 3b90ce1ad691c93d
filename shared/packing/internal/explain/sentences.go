package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// misfitSentence says why a group that needs room has none: how much fits, and
// what lacks for the rest.
func (d *report) misfitSentence(i int, e *Explanation, fits, missing string) string {
	var b strings.Builder
	name := problem.Named(d.P.Groups[i].Source)
	if follower, joined := d.joins(i); joined != "" {
		fmt.Fprintf(&b, "%s must join %s", problem.Named(d.P.Groups[follower].Source), joined)
		if follower == i && (d.P.Groups[i].Pinned || d.P.Groups[i].Required == counts.None) {
			return b.String() + ": " + fits + missing
		}
		b.WriteString(", where ")
		if follower == i {
			name = "it"
		}
	}
	switch {
	case len(e.Domain) == 0:
		b.WriteString(name)
	case d.P.Groups[i].Required == counts.None:
		fmt.Fprintf(&b, "%s is tied to %s %s", name, e.Level, e.Domain)
	case slices.ContainsFunc(d.P.Groups[i].Ties, func(t problem.Tie) bool { return !t.Followed }):
		fmt.Fprintf(&b, "%s needs one %s, and running pods tie it to %s", name, e.Level, e.Domain)
	default:
		fmt.Fprintf(&b, "%s needs one %s, and the nearest is %s", name, e.Level, e.Domain)
	}
	return b.String() + ": " + fits + missing
}

// joins names the pods of other gangs that a group, or the nearest of its
// ancestors that follows any, must join, and where: of those in one domain the
// first.
func (d *report) joins(i int) (follower int, joined string) {
	var texts []string
	var named []problem.Place
	for ; i != counts.None; i = d.P.Groups[i].Parent {
		g := &d.P.Groups[i]
		for k, tie := range g.Ties {
			if tie.Followed && !slices.Contains(named, g.Fixed[k]) {
				named = append(named, g.Fixed[k])
				texts = append(texts, fmt.Sprintf("%s in %s", tie.PodsText, d.placeText(g.Fixed[k])))
			}
		}
		if len(texts) > 0 {
			return i, strings.Join(texts, " and ")
		}
	}
	return counts.None, ""
}

func (d *report) placeText(at problem.Place) string {
	t := d.P.Cluster.Topologies[at.Slot]
	return fmt.Sprintf("%s %s", t.Levels[t.Domains[at.At].Level], t.Domains[at.At].Path)
}

// ties says which pods, and in which domain, a group and the groups around it have to join.
func (d *report) ties(i int) (ties []string) {
	for _, up := range d.Lineage(i) {
		g := &d.P.Groups[up]
		for k, tie := range g.Ties {
			if text := fmt.Sprintf("with %s in %s", tie.PodsText, d.placeText(g.Fixed[k])); !slices.Contains(ties, text) {
				ties = append(ties, text)
			}
		}
	}
	return ties
}

// nowhereSentence says why there is not even a domain to look at.
func (d *report) nowhereSentence(i int, e *Explanation) string {
	ties := d.ties(i)
	name := problem.Named(d.P.Groups[i].Source)
	if len(ties) > 1 {
		return fmt.Sprintf("%s cannot be %s at the same time", name, strings.Join(ties, " and "))
	}
	return fmt.Sprintf("%s needs one domain of level %q, and no node is in one", name, e.Level)
}

// waitingSentence says why pods beyond the minimum wait, with the relations that keep
// them off nodes.
func (d *report) waitingSentence(i int, e *Explanation, with, otherwise string) string {
	where := "the cluster"
	if len(e.Domain) > 0 {
		where = e.place()
	}
	return fmt.Sprintf("%s, since %s has no room for more%s%s", d.waiting(i, e), where, with, shortText(e, otherwise))
}

// lackingSentence says of pods beyond the minimum that they wait for further pods of a leaf.
func (d *report) belowMinimumSentence(i, below int, e *Explanation) string {
	name := "it"
	if below != i {
		name = problem.Named(d.P.Groups[below].Source)
	}
	return fmt.Sprintf("%s, since %s has %d of the %d pods it needs", d.waiting(i, e), name, d.has(below),
		d.P.Groups[below].Source.MinMember)
}

// tornSentence says of pods beyond the minimum that their group must not stand where those around it do.
func (d *report) tornSentence(i int, e *Explanation) string {
	ties := d.ties(i)
	if len(ties) < 2 {
		ties = append(ties, "in "+e.place())
	}
	return fmt.Sprintf("%s, since they cannot be %s at the same time", d.waiting(i, e), strings.Join(ties, " and "))
}

func (d *report) waiting(i int, e *Explanation) string {
	wait := "wait"
	if e.Wanted == 1 {
		wait = "waits"
	}
	name := problem.Named(d.P.Groups[i].Source)
	return fmt.Sprintf("%s: %s beyond the minimum %s", name, counted(int64(e.Wanted), "pod"), wait)
}

func (e *Explanation) place() string { return fmt.Sprintf("%s %s", e.Level, e.Domain) }

// unsettledSentence says that no node was found for pods beyond the minimum, and that it is not proved that none
// exists.
func (d *report) unsettledSentence(i int, e *Explanation) string {
	return fmt.Sprintf("%s: no placement was found for %s beyond the minimum, and it is not proved that none exists",
		problem.Named(d.P.Groups[i].Source), counted(int64(e.Wanted), "pod"))
}

// shortText lists what is short, or says otherwise, and what is excluded.
func shortText(e *Explanation, otherwise string) string {
	var b strings.Builder
	for k, s := range e.Short {
		if k == 0 {
			b.WriteString(", short of ")
		} else {
			b.WriteString(" and ")
		}
		b.WriteString(amountText(s) + splitText(s))
	}
	if len(e.Short) == 0 {
		b.WriteString(otherwise)
	}
	return b.String() + excludedText(e)
}

// excludedText counts the nodes that filters exclude.
func excludedText(e *Explanation) string {
	var b strings.Builder
	for _, x := range e.Excluded {
		fmt.Fprintf(&b, "; %s excluded by %s", counted(int64(x.Nodes), "node"), x.Reason)
	}
	return b.String()
}

// amountText says how much is short.
func amountText(s Shortage) string {
	if s.Resource == "pods" {
		return counted(s.Amount, "pod slot")
	}
	return figure(s.Resource, s.Amount) + " " + s.Resource
}

// splitText says how the free amount is split over nodes, so that a large sum does not look like room.
func splitText(s Shortage) string {
	if s.Free == 0 {
		return ""
	}
	return fmt.Sprintf(" (the rest needs %s, %s free)", figure(s.Resource, s.Needed), figure(s.Resource, s.Free))
}

// figure writes an amount in the unit that people use for the resource: see
// Resources.
func figure(resource string, amount int64) string {
	switch {
	case resource == "cpu":
		return strconv.FormatFloat(float64(amount)/1000, 'f', -1, 64)
	case resource == "memory", resource == "ephemeral-storage", strings.HasPrefix(resource, "hugepages-"):
		return bytes(amount)
	default:
		return strconv.FormatInt(amount, 10)
	}
}

// bytes writes a number of bytes in the largest unit with a value of at least one, to a tenth.
func bytes(amount int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	value := float64(amount)
	for value >= 1024 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	return strconv.FormatFloat(math.Round(value*10)/10, 'f', -1, 64) + units[0]
}

// counted is a number of things.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
