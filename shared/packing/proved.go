package packing

import (
	"slices"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
)

// explainProof puts the certificate into words: the group that has no room, the
// domain where it lacks least, and what it lacks there. Figures are those of the
// certificate, so that the sentence cannot contradict it. Only the nodes that
// filters exclude are counted besides.
func (d *decision) explainProof() Explanation {
	c := d.claim()
	e := d.about(c.group)
	if c.rule != nil && c.rule.Cut != nil && c.rule.Cut.Relation != "" {
		d.relationWords(c.rule.Cut, &e)
		return e
	}
	regions := d.candidates(c.group)
	if len(regions) == 0 {
		e.Sentence = d.nowhereSentence(c.group, &e)
		return e
	}
	at := slices.IndexFunc(regions, func(r region) bool { return c.within(d.p, r) })
	switch {
	case at >= 0:
		d.name(&e, regions[at])
	case c.rule != nil && c.rule.Few != nil && d.p.groups[c.group].required != counts.None:
		at = d.roomiest(regions, c.group, c.rule.Few.Resource)
		d.name(&e, regions[at])
	case len(regions) == 1:
		at = 0
		d.name(&e, regions[at])
	default:
		regions, at = []region{wholeCluster}, 0
	}
	e.Excluded = d.exclusions(regions[at], d.p.asked(d.p.pending, c.group))
	fits, lacks := c.words(&e)
	if c.rule != nil && c.rule.Cut != nil {
		lacks += d.relationsOf(&c.rule.Cut.Measure)
	}
	if c.rule != nil && c.rule.Few != nil && len(e.Short)+len(e.Excluded) == 0 && c.rule.Few.Resource == "" {
		lacks += d.emptiness(regions[at])
	}
	lacks += d.related(&c)
	e.Sentence = d.misfitSentence(c.group, &e, fits, lacks+excludedText(&e))
	return e
}

// related names the required relations that a claim rests on, or may: without counting
// their items by themselves.
func (d *decision) related(c *claim) (with string) {
	for i := range d.p.relations {
		r := &d.p.relations[i]
		if r.source.Preferred || r.near == nil || !d.p.about(r, c.group) {
			continue
		}
		with += ", with " + r.source.rule()
		if r.near != nil && !slices.Contains(r.near, true) {
			with += ", which stands in none"
		}
	}
	return with
}

// about reports whether a group is in an item of a relation, or has one inside.
func (p *problem) about(r *relation, group int) bool {
	return slices.ContainsFunc(r.items, func(item int) bool {
		return item <= group && group < p.groups[item].end || group < item && item < p.groups[group].end
	})
}

// roomiest is of some regions the one with most of a resource free on nodes that filters
// leave to the pods of a group; of equal ones the first with fewest other nodes.
func (d *decision) roomiest(regions []region, group int, resource string) int {
	column, known := d.p.cluster.Column(resource)
	filters := d.filters(d.p.asked(d.p.pending, group))
	best, most, fewest := 0, int64(counts.None), 0
	for at, r := range regions {
		sum, barred := int64(0), 0
		d.p.nodes(r, func(node int32) {
			switch {
			case !slices.ContainsFunc(filters, func(f *counts.NodeFilter) bool { return d.p.cluster.Lets(f, node) }):
				barred++
			case known:
				sum = counts.PlusSaturating(sum, max(0, d.p.cluster.FreeOn(node)[column]))
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
	// group lacks room; leaf says that it has pods and no groups, of which some are
	// running.
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
func (d *decision) claim() claim {
	rules, used, groups := d.certificate.Rules, timesUsed(d.certificate), d.p.byName()
	c := claim{gang: d.p.groups[0].source.Name}
	for at := d.certificate.Start[0]; ; {
		r := &rules[at]
		switch {
		case used[at] > 1, r.Without != nil && (c.group > 0 || c.branch != nil || rules[r.Without.Then[0]].Few == nil),
			r.Branch != nil && (c.branch != nil || len(r.Branch.Each) == 0):
			return claim{}
		case r.Without != nil:
			c.group, at = groups[r.Without.Groups[0]], r.Without.Each[0]
		case r.Branch != nil:
			c.branch, at = r.Branch, nearestRule(rules, r.Branch.Each)
		default:
			c.rule = r
			d.p.subject(&c, groups)
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
			if lacks := float64(cut.Need-cut.Offer) / float64(cut.Need); lacks < least {
				best, least = at, lacks
			}
		}
	}
	return best
}

// byName has the index of each group by the name that certificates give it.
func (p *problem) byName() map[string]int {
	w, groups := groupWriter{names: map[string]bool{}}, map[string]int{}
	for i := range p.groups {
		groups[w.unique(p.groups[i].source.Name, i)] = i
	}
	return groups
}

// subject finds the group that the rule of a claim is about.
func (p *problem) subject(c *claim, groups map[string]int) {
	switch {
	case c.rule.Few != nil:
		c.group = groups[c.rule.Few.Group]
	case c.rule.Cut != nil && len(c.rule.Cut.Of) > 0:
		c.group = groups[c.rule.Cut.Of[0]]
		for _, leaf := range c.rule.Cut.Of {
			for i := groups[leaf]; i < c.group || i >= p.groups[c.group].end; {
				c.group = p.groups[c.group].parent
			}
		}
	}
	if c.leaf = p.groups[c.group].leaf(); c.leaf {
		c.running = int64(p.groups[c.group].running)
	}
	c.here = c.branch != nil && groups[c.branch.Group] == c.group
	if c.rule.Cut != nil && c.rule.Cut.Resource != "" {
		c.pods = p.each(c.group, c.rule.Cut.Resource)
	}
}

// each is how much of a resource each pending pod of a group asks for; 0 if they
// differ, or ask for none.
func (p *problem) each(group int, resource string) int64 {
	amount := int64(counts.None)
	column, _ := p.cluster.Column(resource)
	for _, kind := range p.kindsOf(group) {
		asks := p.shapes[kind].Requested(column)
		if amount != counts.None && asks != amount {
			return 0
		}
		amount = asks
	}
	return max(0, amount)
}

// within reports whether a region is the nearest domain of a claim.
func (c *claim) within(p *problem, r region) bool {
	if !c.here || c.rule.Cut == nil {
		return false
	}
	slot, _ := p.cluster.SlotOf(c.branch.Topology)
	at := r.within(slot)
	return at != counts.None && p.cluster.Topologies[slot].Domains[at].Path.String() == c.rule.Cut.Domain
}
