package certificate

import "fmt"

// maxDepth bounds how deep proofs lie in proofs.
const maxDepth = 500

// holds carries out a proof in a state. The error tells of what the input does
// not have.
func (v *verifier) holds(s *state, p *Proof, depth int) (bool, error) {
	v.spend(1)
	if rules := p.rules(); rules != 1 || depth > maxDepth {
		return false, fmt.Errorf("%w: a proof has %d rules at depth %d, and needs one, at most %d deep", ErrNotProved, rules, depth, maxDepth)
	}
	switch {
	case p.Few != nil:
		return v.few(s, p), nil
	case p.Cut != nil:
		return v.cut(s, p)
	case p.Branch != nil:
		return v.branch(s, p, depth)
	case p.Without != nil:
		return v.without(s, p, depth)
	default:
		return v.search(s, p), nil
	}
}

func (p *Proof) rules() int {
	n := 0
	for _, set := range []bool{p.Few != nil, p.Cut != nil, p.Branch != nil, p.Without != nil, p.Search != nil} {
		if set {
			n++
		}
	}
	return n
}

// note keeps the figures of a rule that held, if it held here by less than
// before.
func (v *verifier) note(p *Proof, f figures) {
	if before := v.found[p]; before == nil || f.first-f.second < before.first-before.second {
		v.found[p] = &f
	}
}

func (v *verifier) few(s *state, p *Proof) bool {
	if _, possible := v.need(s, s.goal, nil); possible {
		return false
	}
	group, has, needs := v.lacking(s, s.goal)
	v.note(p, figures{int64(needs), int64(has), v.in.Groups[group].Name})
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

func (v *verifier) cut(s *state, p *Proof) (bool, error) {
	by, err := v.scaleOf(&p.Cut.Measure)
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
	v.note(p, figures{need, offer, s.domain})
	return true, nil
}

func (v *verifier) branch(s *state, p *Proof, depth int) (bool, error) {
	b := p.Branch
	group, known := v.group[b.Group]
	if !known {
		return false, fmt.Errorf("group %q is not in the input", b.Group)
	}
	level := v.level(b.Topology, b.Level)
	if level < 0 {
		return false, fmt.Errorf("topology %q has no level %q in the input", b.Topology, b.Level)
	}
	if !v.requires(group, b.Topology, level) || group < s.goal || group >= v.end[s.goal] {
		return false, fmt.Errorf("%w: group %q need not stand in one %s", ErrNotProved, b.Group, b.Level)
	}
	if holds, err := v.holds(v.barring(s, group), &b.None, depth+1); err != nil || !holds {
		return false, err
	}
	division := v.divide(b.Topology, b.Level)
	domains := v.unlike(s, b.Topology, level, division, s.regions[group])
	for _, domain := range domains {
		if holds, err := v.any(v.confined(s, group, division, domain), b.Each, depth+1); err != nil || !holds {
			return false, err
		}
	}
	v.note(p, figures{first: int64(len(v.domainsOf(division, s.regions[group])))})
	return true, nil
}

// any carries out the first proof that holds.
func (v *verifier) any(s *state, proofs []Proof, depth int) (bool, error) {
	for i := range proofs {
		if holds, err := v.holds(s, &proofs[i], depth); err != nil || holds {
			return holds, err
		}
	}
	return false, nil
}

// without carries out a proof that groups cannot be satisfied.
func (v *verifier) without(s *state, p *Proof, depth int) (bool, error) {
	var groups []int
	for _, name := range p.Without.Groups {
		group, known := v.group[name]
		if !known {
			return false, fmt.Errorf("group %q is not in the input", name)
		}
		if group <= s.goal || group >= v.end[s.goal] {
			return false, fmt.Errorf("%w: group %q is not below what cannot be satisfied", ErrNotProved, name)
		}
		groups = append(groups, group)
		alone := *s
		alone.goal = group
		if holds, err := v.any(&alone, p.Without.Each, depth+1); err != nil || !holds {
			return false, err
		}
	}
	holds, err := v.holds(v.barring(s, groups...), &p.Without.Then, depth+1)
	if holds {
		v.note(p, figures{})
	}
	return holds, err
}

// completed is a proof with the figures that were found, and without rules that
// did not hold anywhere.
func (v *verifier) completed(p *Proof) *Proof {
	f := v.found[p]
	if f == nil {
		return nil
	}
	switch {
	case p.Few != nil:
		return &Proof{Few: &Few{Group: f.place, Has: f.second, Needs: f.first}}
	case p.Cut != nil:
		return &Proof{Cut: &Cut{Measure: p.Cut.Measure, Domain: f.place, Need: f.first, Offer: f.second}}
	case p.Search != nil:
		return &Proof{Search: &Search{Patterns: f.first}}
	case p.Branch != nil:
		b := *p.Branch
		b.Domains, b.Each, b.None = f.first, v.completedAll(b.Each), *v.completed(&b.None)
		return &Proof{Branch: &b}
	default:
		w := *p.Without
		w.Each, w.Then = v.completedAll(w.Each), *v.completed(&w.Then)
		return &Proof{Without: &w}
	}
}

func (v *verifier) completedAll(proofs []Proof) []Proof {
	var used []Proof
	for i := range proofs {
		if p := v.completed(&proofs[i]); p != nil {
			used = append(used, *p)
		}
	}
	return used
}
