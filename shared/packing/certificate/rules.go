package certificate

import (
	"cmp"
	"fmt"
	"maps"
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
// error says what the input does not have.
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
	case r.Deficit != nil:
		return v.deficit(s, i), nil
	case r.Cut != nil:
		return v.cut(s, i, r.Cut)
	case r.Branch != nil:
		return v.branch(s, i, r.Branch)
	default:
		return v.without(s, i, r.Without)
	}
}

func (r *Rule) fields() int {
	n := 0
	for _, set := range []bool{r.Deficit != nil, r.Cut != nil, r.Branch != nil, r.Without != nil} {
		if set {
			n++
		}
	}
	return n
}

// note adds to the log that a rule held, and by which figures.
func (v *verifier) note(rule int, f figures) {
	v.log = append(v.log, entry{rule: rule, figures: &f})
}

func (v *verifier) deficit(s *state, rule int) bool {
	if _, possible := v.needed(s, nil); possible {
		return false
	}
	v.note(rule, v.deficitOf(s, s.goal))
	return true
}

// deficitOf names the innermost group that cannot be satisfied and makes the groups around it fail.
func (v *verifier) deficitOf(s *state, group int) figures {
	g := &v.in.Groups[group]
	if v.leaf(group) {
		has, largest := int64(len(g.Running)), -1
		for _, some := range v.pending[group] {
			if v.usable(v.region(s, group), some.kind) {
				has += some.pods
			} else if largest < 0 {
				largest = some.kind
			}
		}
		f := figures{first: int64(g.MinMember), second: has, group: g.Name}
		if largest >= 0 {
			f.shortage = v.shortage(v.region(s, group), largest)
		}
		return f
	}
	fails, has := -1, int64(0)
	for _, run := range v.runsIn(s, group, nil) {
		if _, possible := v.need(s, run.first, nil); possible {
			has += int64(run.count)
		} else if fails < 0 {
			fails = run.first
		}
	}
	if g.MinSubGroups == len(v.children[group]) {
		return v.deficitOf(s, fails)
	}
	f := figures{first: int64(g.MinSubGroups), second: has, group: g.Name}
	if fails >= 0 {
		f.shortage = v.deficitOf(s, fails).shortage
	}
	return f
}

// shortage is the resource that most of the nodes left to a kind have too little of for one pod. Ties go to a resource
// that no node has, then to the one with the least free amount relative to the request: devices come before resources
// that every node has, which become free when pods end.
func (v *verifier) shortage(r *region, kind int) Shortage {
	if r == nil {
		return Shortage{}
	}
	v.spend(len(r.nodes))
	requests, allowed := v.kinds[kind].requests, v.kinds[kind].allowed
	without, most := make([]int, len(requests)), make([]int64, len(requests))
	for _, node := range r.nodes {
		if allowed != nil && !allowed.has(int(node)) {
			continue
		}
		for i, free := range v.row(int(node)) {
			most[i] = max(most[i], free)
			if free < requests[i] {
				without[i]++
			}
		}
	}
	share := func(i int) float64 { return float64(most[i]) / float64(max(1, requests[i])) }
	worst := Shortage{}
	for _, name := range slices.Sorted(maps.Keys(v.resources)) {
		i, than := v.resources[name], v.resources[worst.Resource]
		scarcer := cmp.Or(cmp.Compare(without[i], without[than]), cmp.Compare(share(than), share(i)))
		device := strings.Contains(name, "/") && !strings.Contains(worst.Resource, "/")
		if without[i] > 0 && (worst.Resource == "" || scarcer > 0 || scarcer == 0 && device) {
			worst = Shortage{Resource: name, Asks: requests[i], Free: most[i]}
		}
	}
	return worst
}

func (v *verifier) cut(s *state, rule int, c *Cut) (bool, error) {
	by, err := v.scaleOf(&c.Measure)
	if err != nil {
		return false, err
	}
	need, possible := v.needed(s, by)
	if !possible {
		return false, nil // That is for few to say.
	}
	offer := int64(0)
	v.offers(s, by, func(_ int, weight int64) { offer = plus(offer, weight) })
	if need <= offer {
		return false, nil
	}
	v.note(rule, figures{first: need, second: offer, where: s, barred: v.barred(s)})
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
	if holds, err := v.any(v.barring(s, group), inNone, rule, b.None); !holds {
		return false, err
	}
	division := v.divide(b.Topology, b.Level)
	domains := v.domainsOf(division, v.region(s, group))
	each := b.Each
	for _, domain := range domains {
		if holds, err := v.any(v.confined(s, group, division, domain), inEach, rule, each); !holds {
			return false, err
		}
		each = v.lastFirst(each)
	}
	v.note(rule, figures{first: int64(len(domains))})
	return true, nil
}

// lastFirst puts the rule that held last first: mostly it holds for the next domain
// too.
func (v *verifier) lastFirst(rules []int) []int {
	last := v.log[len(v.log)-1].use.to
	if rules[0] == last {
		return rules
	}
	v.spend(len(rules) / 16)
	at := slices.Index(rules, last)
	return append([]int{last}, slices.Delete(slices.Clone(rules), at, at+1)...)
}

// without sets groups aside that cannot be satisfied. Groups that are alike share
// one judgement.
func (v *verifier) without(s *state, rule int, w *Without) (bool, error) {
	judged, none := map[string]bool{}, true
	s = v.setting(s)
	for _, name := range w.Groups {
		v.spend(1)
		group, known := v.group[name]
		if !known {
			return false, fmt.Errorf("group %q is not in the input", name)
		}
		if group <= s.goal || group >= v.end[s.goal] {
			continue
		}
		class := v.classIn(s, group)
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
			v.log = append(v.log, entry{rule: rule, figures: &figures{}, group: name})
			v.set(s, group)
			none = false
		}
	}
	if none {
		return false, nil
	}
	return v.any(s, inThen, rule, w.Then)
}

// classIn says of a group all that matters to rules about it alone, but its name.
func (v *verifier) classIn(s *state, group int) string {
	var class strings.Builder
	for i := group; i < v.end[group]; i++ {
		v.spend(1 + len(v.relations))
		g := &v.in.Groups[i]
		fmt.Fprintf(&class, "%d %d %d %d %q %q %p %v", len(v.children[i]), g.MinSubGroups, g.MinMember, len(g.Running),
			g.Topology, g.Required, v.region(s, i), v.pending[i])
		for at, r := range v.relations {
			// An item around the group is known by where it stands, one inside by its place too.
			if item := v.itemOf(r, i); item >= 0 {
				fmt.Fprintf(&class, " %d:%d%v", at, max(item-group, -1), r.stands[item])
			}
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
			if at := (use{in, from, i}); uses[at] {
				delete(uses, at)
				kept = append(kept, number[i])
			}
		}
		return kept
	}
	completed := &Proof{Unfiltered: v.unfiltered, Start: used(atStart, 0, v.proof.Start)}
	for i, f := range found {
		if f != nil {
			completed.Rules = append(completed.Rules, v.proof.Rules[i].with(f, groups[i], func(in list,
				rules []int) []int {
				return used(in, i, rules)
			}))
		}
	}
	return completed
}

// nearest reads the log: the figures of each rule by which it held with least to spare,
// of equal ones those of a domain with fewer nodes that filters bar, all references that
// count, and the groups that were set aside.
func (v *verifier) nearest() ([]*figures, map[use]bool, []map[string]bool) {
	found, uses, groups := make([]*figures, len(v.proof.Rules)), map[use]bool{}, make([]map[string]bool,
		len(v.proof.Rules))
	for i := range v.log {
		e := &v.log[i]
		if e.rule < 0 {
			uses[e.use] = true
			continue
		}
		if f := found[e.rule]; f == nil || e.figures.nearer(f) {
			found[e.rule] = e.figures
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

// nearer reports whether less lacks than by other figures; where as much does, whether
// fewer nodes are barred.
func (f *figures) nearer(other *figures) bool {
	return cmp.Or(cmp.Compare(f.first-f.second, other.first-other.second), cmp.Compare(f.barred, other.barred)) < 0
}

// with is the rule with its figures.
func (r *Rule) with(f *figures, groups map[string]bool, used func(in list, rules []int) []int) Rule {
	switch {
	case r.Deficit != nil:
		return Rule{Deficit: &Deficit{Group: f.group, Has: f.second, Needs: f.first, Shortage: f.shortage}}
	case r.Cut != nil:
		return Rule{Cut: &Cut{Measure: r.Cut.Measure, Domain: f.where.place(), Need: f.first, Offer: f.second}}
	case r.Branch != nil:
		b := *r.Branch
		b.Domains, b.Each, b.None = f.first, used(inEach, b.Each), used(inNone, b.None)
		return Rule{Branch: &b}
	default:
		w := Without{Each: used(inEach, r.Without.Each), Then: used(inThen, r.Without.Then)}
		for _, name := range r.Without.Groups {
			if groups[name] {
				w.Groups = append(w.Groups, name)
			}
		}
		return Rule{Without: &w}
	}
}
