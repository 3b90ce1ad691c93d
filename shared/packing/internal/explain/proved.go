package explain

import (
	"slices"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/refute"
)

// explainProof puts the certificate into words: the group that has no room, the
// domain where it lacks least, and what it lacks there. Figures are those of the
// certificate, so that the sentence cannot contradict it. Only the nodes that
// filters exclude are counted besides.
func (d *report) explainProof() Explanation {
	c := d.claim()
	e := d.about(c.group)
	if c.rule != nil && c.rule.Cut != nil && c.rule.Cut.Relation != "" {
		d.relationMessage(c.rule.Cut, &e)
		return e
	}
	regions := d.Candidates(c.group)
	if len(regions) == 0 {
		e.Sentence = d.nowhereSentence(c.group, &e) + d.unlabelled(c.group)
		return e
	}
	at := slices.IndexFunc(regions, func(r problem.Region) bool { return c.within(d.P, r) })
	switch {
	case at >= 0:
		d.name(&e, regions[at])
	case c.rule != nil && c.rule.Deficit != nil && d.P.Groups[c.group].Required != counts.None:
		at = d.roomiest(regions, c.group, c.rule.Deficit.Resource)
		d.name(&e, regions[at])
	case len(regions) == 1:
		at = 0
		d.name(&e, regions[at])
	default:
		regions, at = []problem.Region{problem.WholeCluster}, 0
	}
	e.Excluded = d.exclusions(regions[at], d.P.Asked(d.P.Pending, c.group))
	fits, missing := c.message(&e)
	if c.rule != nil && c.rule.Cut != nil {
		missing += d.relationsOf(&c.rule.Cut.Measure)
	}
	if c.rule != nil && c.rule.Deficit != nil && len(e.Short)+len(e.Excluded) == 0 && c.rule.Deficit.Resource == "" {
		missing += d.emptiness(regions[at])
	}
	missing += d.related(&c)
	e.Sentence = d.misfitSentence(c.group, &e, fits, missing+excludedText(&e)+d.unlabelled(c.group))
	return e
}

// related names the required relations that a claim rests on, or may: without counting
// their items by themselves.
func (d *report) related(c *claim) (with string) {
	for i := range d.P.Relations {
		r := &d.P.Relations[i]
		if r.Source.Preferred || r.Near == nil && !r.Full() || !about(d.P, r, c.group) {
			continue
		}
		with += ", with " + rule(r.Source)
		if r.Near != nil && !slices.Contains(r.Near, true) {
			with += ", which is in none"
		}
	}
	return with
}

// about reports whether a group is in an item of a relation, or has one inside.
func about(p *problem.Problem, r *problem.RelationCount, group int) bool {
	return slices.ContainsFunc(r.Items, func(item int) bool {
		return item <= group && group < p.Groups[item].End || group < item && item < p.Groups[group].End
	})
}

// roomiest is of some regions the one with most of a resource free on nodes that filters
// leave to the pods of a group; of equal ones the first with fewest other nodes.
func (d *report) roomiest(regions []problem.Region, group int, resource string) int {
	column, known := d.P.Cluster.Column(resource)
	filters := d.filters(d.P.Asked(d.P.Pending, group))
	best, most, fewest := 0, int64(counts.None), 0
	for at, r := range regions {
		sum, barred := int64(0), 0
		d.P.Nodes(r, func(node int32) {
			switch {
			case !slices.ContainsFunc(filters, func(f *counts.NodeFilter) bool { return d.P.Cluster.Lets(f, node) }):
				barred++
			case known:
				sum = counts.PlusSaturating(sum, max(0, d.P.Cluster.FreeOn(node)[column]))
			}
		})
		if sum > most || sum == most && barred < fewest {
			best, most, fewest = at, sum, barred
		}
	}
	return best
}

// claim is what a certificate comes down to.
type claim struct {
	// group lacks room; leaf says that it has pods and no groups. Some of the pods run.
	group   int
	leaf    bool
	running int64
	// gang is what the certificate calls the whole gang.
	gang string
	// branch has the domains that a group could go to, that group itself if here; nil
	// if all stand where they are.
	branch *certificate.Branch
	here   bool
	// rule decides; nil if several do for unlike cases, so that no figure is that of
	// all. pods is the weight of each pod that it weighs; 0 if they differ.
	rule *certificate.Rule
	pods int64
}

// claim follows the certificate from its start to the rule that decides: in the
// nearest domain, if there is a branch.
func (d *report) claim() claim {
	rules, used, groups := d.certificate.Rules, timesUsed(d.certificate), byName(d.P)
	c := claim{gang: d.P.Groups[0].Source.Name}
	for at := d.certificate.Start[0]; ; {
		r := &rules[at]
		switch {
		case used[at] > 1, r.Without != nil && (c.group > 0 || c.branch != nil || rules[r.Without.Then[0]].Deficit == nil),
			r.Branch != nil && (c.branch != nil || len(r.Branch.Each) == 0):
			return claim{}
		case r.Without != nil:
			c.group, at = groups[r.Without.Groups[0]], r.Without.Each[0]
		case r.Branch != nil:
			c.branch, at = r.Branch, nearestRule(rules, r.Branch.Each)
		default:
			c.rule = r
			subject(d.P, &c, groups)
			return c
		}
	}
}

// timesUsed counts for each rule how often others refer to it.
func timesUsed(proof *certificate.Proof) []int {
	used := make([]int, len(proof.Rules))
	count := func(lists ...[]int) {
		for _, list := range lists {
			for _, rule := range list {
				used[rule]++
			}
		}
	}
	count(proof.Start)
	for _, r := range proof.Rules {
		switch {
		case r.Branch != nil:
			count(r.Branch.Each, r.Branch.None)
		case r.Without != nil:
			count(r.Without.Each, r.Without.Then)
		}
	}
	return used
}

// nearestRule is the cut that lacks least of what it needs, or the first rule if
// there is none.
func nearestRule(rules []certificate.Rule, of []int) int {
	best, least := of[0], 2.0
	for _, at := range of {
		if cut := rules[at].Cut; cut != nil {
			if missing := float64(cut.Need-cut.Offer) / float64(cut.Need); missing < least {
				best, least = at, missing
			}
		}
	}
	return best
}

// byName has the index of each group by the name that certificates give it.
func byName(p *problem.Problem) map[string]int {
	w, groups := refute.GroupWriter{Names: map[string]bool{}}, map[string]int{}
	for i := range p.Groups {
		groups[w.Unique(p.Groups[i].Source.Name, i)] = i
	}
	return groups
}

// subject finds the group that the rule of a claim is about.
func subject(p *problem.Problem, c *claim, groups map[string]int) {
	switch {
	case c.rule.Deficit != nil:
		c.group = groups[c.rule.Deficit.Group]
	case c.rule.Cut != nil && len(c.rule.Cut.Of) > 0:
		c.group = groups[c.rule.Cut.Of[0]]
		for _, leaf := range c.rule.Cut.Of {
			for i := groups[leaf]; i < c.group || i >= p.Groups[c.group].End; {
				c.group = p.Groups[c.group].Parent
			}
		}
	}
	if c.leaf = p.Groups[c.group].Leaf(); c.leaf {
		c.running = int64(p.Groups[c.group].Running)
	}
	c.here = c.branch != nil && groups[c.branch.Group] == c.group
	if c.rule.Cut != nil && c.rule.Cut.Resource != "" {
		c.pods = each(p, c.group, c.rule.Cut.Resource)
	}
}

// each is how much of a resource each pending pod of a group asks for; 0 if they
// differ, or ask for none.
func each(p *problem.Problem, group int, resource string) int64 {
	amount := int64(counts.None)
	column, _ := p.Cluster.Column(resource)
	for _, kind := range p.KindsOf(group) {
		asks := p.Shapes[kind].Requested(column)
		if amount != counts.None && asks != amount {
			return 0
		}
		amount = asks
	}
	return max(0, amount)
}

// within reports whether a region is the nearest domain of a claim.
func (c *claim) within(p *problem.Problem, r problem.Region) bool {
	if !c.here || c.rule.Cut == nil {
		return false
	}
	slot, _ := p.Cluster.SlotOf(c.branch.Topology)
	at := r.Within(slot)
	return at != counts.None && p.Cluster.Topologies[slot].Domains[at].Path.String() == c.rule.Cut.Domain
}
