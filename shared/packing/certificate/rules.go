package certificate

import (
	"fmt"
	"slices"
	"strings"
)

// use is a reference from a rule to another one.
type use struct {
	in   list
	from int
	to   int
}

// list is one of the lists of references.
type list int

const (
	atStart list = iota
	inEach
	inNone
	inThen
)

// any reports whether one of the rules holds in a state; the first is used. The
// error tells of what the input does not have.
func (v *verifier) any(s *state, in list, from int, rules []int) (bool, error) {
	for _, i := range rules {
		if i >= len(v.proof.Rules) || i < 0 || in != atStart && i <= from {
			return false, fmt.Errorf("%w: rule %d refers to rule %d of %d", ErrNotProved, from, i, len(v.proof.Rules))
		}
		before := len(v.log)
		holds, err := v.holds(s, i)
		if err != nil {
			return false, err
		}
		if holds {
			v.log = append(v.log, entry{rule: -1, use: use{in, from, i}})
			return true, nil
		}
		v.log = v.log[:before]
	}
	return false, nil
}

func (v *verifier) holds(s *state, i int) (bool, error) {
	v.spend(1)
	r := &v.proof.Rules[i]
	switch {
	case r.fields() != 1:
		return false, fmt.Errorf("%w: rule %d says %d things and not one", ErrNotProved, i, r.fields())
	case r.Few != nil:
		return v.few(s, i), nil
	case r.Cut != nil:
		return v.cut(s, i, r.Cut)
	case r.Branch != nil:
		return v.branch(s, i, r.Branch)
	case r.Without != nil:
		return v.without(s, i, r.Without)
	default:
		return v.search(s, i), nil
	}
}

func (r *Rule) fields() int {
	n := 0
	for _, set := range []bool{r.Few != nil, r.Cut != nil, r.Branch != nil, r.Without != nil, r.Search != nil} {
		if set {
			n++
		}
	}
	return n
}

// note tells the log that a rule held, by which figures.
func (v *verifier) note(rule int, f figures) {
	v.log = append(v.log, entry{rule: rule, figures: f})
}

func (v *verifier) few(s *state, rule int) bool {
	if _, possible := v.need(s, s.goal, nil); possible {
		return false
	}
	group, has, needs := v.lacking(s, s.goal)
	v.note(rule, figures{int64(needs), int64(has), v.in.Groups[group].Name})
	return true
}

// lacking is the group to name of one that cannot be satisfied: the innermost for
// want of which the others fail.
func (v *verifier) lacking(s *state, group int) (at, has, needs int) {
	g := &v.in.Groups[group]
	if v.leaf(group) {
		for _, pods := range g.Pending {
			if v.usable(s.regions[group], pods.Kind) {
				has += len(pods.Names)
			}
		}
		return group, has + len(g.Running), g.MinMember
	}
	fails := -1
	for _, child := range v.children[group] {
		if _, possible := v.need(s, child, nil); possible {
			has++
		} else if fails < 0 {
			fails = child
		}
	}
	if g.MinSubGroups == len(v.children[group]) {
		return v.lacking(s, fails)
	}
	return group, has, g.MinSubGroups
}

func (v *verifier) cut(s *state, rule int, c *Cut) (bool, error) {
	by, err := v.scaleOf(&c.Measure)
	if err != nil {
		return false, err
	}
	need, possible := v.need(s, s.goal, by)
	if !possible {
		return false, nil // That is for few to say.
	}
	offer := int64(0)
	for _, n := range v.offers(s, by) {
		offer = plus(offer, n)
	}
	if need <= offer {
		return false, nil
	}
	v.note(rule, figures{need, offer, s.domain})
	return true, nil
}

func (v *verifier) branch(s *state, rule int, b *Branch) (bool, error) {
	group, known := v.group[b.Group]
	if !known {
		return false, fmt.Errorf("group %q is not in the input", b.Group)
	}
	level := v.level(b.Topology, b.Level)
	if level < 0 {
		return false, fmt.Errorf("topology %q has no level %q in the input", b.Topology, b.Level)
	}
	if group < s.goal || group >= v.end[s.goal] {
		return false, nil
	}
	if !v.requires(group, b.Topology, level) {
		return false, fmt.Errorf("%w: group %q need not stand in one %s", ErrNotProved, b.Group, b.Level)
	}
	if holds, err := v.any(v.barring(s, group), inNone, rule, b.None); err != nil || !holds {
		return false, err
	}
	division := v.divide(b.Topology, b.Level)
	domains := v.unlike(s, b.Topology, level, division, s.regions[group])
	for _, domain := range domains {
		if holds, err := v.any(v.confined(s, group, division, domain), inEach, rule, b.Each); err != nil || !holds {
			return false, err
		}
	}
	v.note(rule, figures{first: int64(len(v.domainsOf(division, s.regions[group])))})
	return true, nil
}

// without sets groups aside that cannot be satisfied. Groups that are alike share
// one judgement.
func (v *verifier) without(s *state, rule int, w *Without) (bool, error) {
	judged := map[string]bool{}
	for _, name := range w.Groups {
		group, known := v.group[name]
		if !known {
			return false, fmt.Errorf("group %q is not in the input", name)
		}
		if group <= s.goal || group >= v.end[s.goal] {
			continue
		}
		class := v.class(s, group)
		failed, known := judged[class]
		if !known {
			alone := *s
			alone.goal = group
			var err error
			if failed, err = v.any(&alone, inEach, rule, w.Each); err != nil {
				return false, err
			}
			judged[class] = failed
		}
		if failed {
			v.log = append(v.log, entry{rule: rule, group: name})
			s = v.barring(s, group)
		}
	}
	return v.any(s, inThen, rule, w.Then)
}

// class says of a group all that matters but its name.
func (v *verifier) class(s *state, group int) string {
	var class strings.Builder
	for i := group; i < v.end[group]; i++ {
		v.spend(1)
		g := &v.in.Groups[i]
		fmt.Fprintf(&class, "%d %d %d %d %q %q", len(v.children[i]), g.MinSubGroups, g.MinMember, len(g.Running), g.Topology, g.Required)
		if r := s.regions[i]; r != nil {
			fmt.Fprintf(&class, " %p", &r[0])
		}
		for _, pods := range g.Pending {
			fmt.Fprintf(&class, " %d of %d", len(pods.Names), pods.Kind)
		}
		class.WriteByte('\n')
	}
	return class.String()
}

// completed is the proof with the figures that were found, and without what was
// not used.
func (v *verifier) completed() *Proof {
	found, uses, groups := v.nearest()
	number := make([]int, len(found))
	kept := 0
	for i := range number {
		number[i] = kept
		if found[i] != nil {
			kept++
		}
	}
	used := func(in list, from int, rules []int) []int {
		var kept []int
		for _, i := range rules {
			if uses[use{in, from, i}] && !slices.Contains(kept, number[i]) {
				kept = append(kept, number[i])
			}
		}
		return kept
	}
	completed := &Proof{Start: used(atStart, 0, v.proof.Start)}
	for i, f := range found {
		if f != nil {
			completed.Rules = append(completed.Rules, v.proof.Rules[i].with(f, groups[i], func(in list, rules []int) []int { return used(in, i, rules) }))
		}
	}
	return completed
}

// nearest reads the log: the figures of each rule by which it held with least to
// spare, all references that count, and the groups that were set aside.
func (v *verifier) nearest() ([]*figures, map[use]bool, []map[string]bool) {
	found, uses, groups := make([]*figures, len(v.proof.Rules)), map[use]bool{}, make([]map[string]bool, len(v.proof.Rules))
	for i := range v.log {
		e := &v.log[i]
		if e.rule < 0 {
			uses[e.use] = true
			continue
		}
		if f := found[e.rule]; f == nil || e.figures.first-e.figures.second < f.first-f.second {
			found[e.rule] = &e.figures
		}
		if e.group != "" {
			if groups[e.rule] == nil {
				groups[e.rule] = map[string]bool{}
			}
			groups[e.rule][e.group] = true
		}
	}
	return found, uses, groups
}

// with is the rule with its figures.
func (r *Rule) with(f *figures, groups map[string]bool, used func(in list, rules []int) []int) Rule {
	switch {
	case r.Few != nil:
		return Rule{Few: &Few{Group: f.place, Has: f.second, Needs: f.first}}
	case r.Cut != nil:
		return Rule{Cut: &Cut{Measure: r.Cut.Measure, Domain: f.place, Need: f.first, Offer: f.second}}
	case r.Branch != nil:
		b := *r.Branch
		b.Domains, b.Each, b.None = f.first, used(inEach, b.Each), used(inNone, b.None)
		return Rule{Branch: &b}
	case r.Without != nil:
		w := Without{Each: used(inEach, r.Without.Each), Then: used(inThen, r.Without.Then)}
		for _, name := range r.Without.Groups {
			if groups[name] {
				w.Groups = append(w.Groups, name)
			}
		}
		return Rule{Without: &w}
	default:
		return Rule{Search: &Search{Patterns: f.first}}
	}
}
