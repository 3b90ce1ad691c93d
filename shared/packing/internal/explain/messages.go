package explain

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/problem"
)

// message say how much fits, and what lacks, and fill in the figures of that.
func (c *claim) message(e *Explanation) (fits, missing string) {
	fits = "too few pods fit"
	switch {
	case c.rule == nil:
		missing = ", as the certificate shows case by case"
	case c.rule.Deficit != nil:
		fits, missing = c.shortageMessage(e)
	case c.rule.Cut.Resource != "":
		fits, missing = c.resourceMessage(e)
	default:
		fits, missing = cutMessage(c.rule.Cut, c.gang, e)
	}
	if c.branch != nil && !c.here {
		missing += fmt.Sprintf(", wherever group %q goes", c.branch.Group)
	}
	switch {
	case len(e.Domain) > 0:
	case c.here:
		fits += " into any " + c.branch.Level
	default:
		fits += " into the cluster"
	}
	return fits, missing
}

// relationsOf names the relations that bound what a domain takes.
func (d *report) relationsOf(m *certificate.Measure) string {
	text := ""
	for i := range d.P.Relations {
		r := d.P.Relations[i].Source
		if slices.ContainsFunc(m.By, func(by certificate.Measure) bool { return by.Relation == r.Name }) {
			text += ", with " + rule(r)
		}
	}
	return text
}

// shortageMessage counts the pods or subgroups that fit alone, and says what one of the others lacks.
func (c *claim) shortageMessage(e *Explanation) (fits, missing string) {
	deficit, what := c.rule.Deficit, "subgroups"
	has, needs := deficit.Has-c.running, deficit.Needs-c.running
	if c.leaf {
		what, e.Fit, e.Wanted = "pods", int(has), int(needs)
	}
	fits = fmt.Sprintf("%d of %d %s fit", has, needs, what)
	asks, free := deficit.Asks, deficit.Free
	short := Shortage{Resource: deficit.Resource, Amount: asks - free, Needed: asks, Free: free}
	switch {
	case deficit.Resource == "":
		return fits, ""
	case short.Amount <= 0:
		return fits, fmt.Sprintf(", since most nodes have too little %s for a pod", deficit.Resource)
	case free == 0:
		missing = ", and no node has any free"
	default:
		missing = fmt.Sprintf(", and no node has more than %s free", figure(deficit.Resource, free))
	}
	e.Short = []Shortage{short}
	one := Shortage{Resource: deficit.Resource, Amount: asks}
	return fits, fmt.Sprintf(", a pod requests %s%s", amountText(one), missing)
}

// resourceMessage are about the amount of a resource that is needed at least, and the
// amount that pods can take at most; in pods too where each takes as much.
func (c *claim) resourceMessage(e *Explanation) (fits, missing string) {
	cut := c.rule.Cut
	short := Shortage{Resource: cut.Resource, Amount: cut.Need - cut.Offer, Needed: cut.Need, Free: cut.Offer}
	e.Short = []Shortage{short}
	missing = ", short of " + amountText(short)
	if c.pods > 0 {
		e.Fit, e.Wanted = int(cut.Offer/c.pods), int(cut.Need/c.pods)
		return fmt.Sprintf("%d of %d pods fit", e.Fit, e.Wanted), missing
	}
	return "too few pods fit", fmt.Sprintf("%s (at least %s needed, room for %s)", missing, figure(cut.Resource, cut.Need),
		figure(cut.Resource, cut.Offer))
}

// relationMessage is about the least number of items that a relation needs and the most that domains have room for.
func (d *report) relationMessage(cut *certificate.Cut, e *Explanation) {
	r := named(d.P, cut.Relation)
	e.Fit, e.Wanted = int(cut.Offer), int(cut.Need)
	what := "group"
	if r.PerPod {
		what = "pod"
	}
	if r.Max == 1 {
		room := "none has"
		if cut.Offer > 0 {
			room = fmt.Sprintf("%d %s", cut.Offer, verb(cut.Offer, "has", "have"))
		}
		e.Sentence = fmt.Sprintf("%s: %s %s, and %s room", rule(r), counted(cut.Need, what),
			verb(cut.Need, "wants a domain of its own", "want domains of their own"), room)
		return
	}
	e.Sentence = fmt.Sprintf("%s: %s %s to go somewhere, and there is room for %d", rule(r), counted(cut.Need, what),
		verb(cut.Need, "has", "have"), cut.Offer)
}

// named is the relation of a name, which there is.
func named(p *problem.Problem, name string) *problem.Relation {
	at := slices.IndexFunc(p.Relations, func(r problem.RelationCount) bool { return r.Source.Name == name })
	return p.Relations[at].Source
}

// rule says in words what a relation asks for.
func rule(r *problem.Relation) string {
	said := fmt.Sprintf("at most %d per", r.Max)
	switch {
	case r.Near != nil:
		said = fmt.Sprintf("near %s by", cmp.Or(r.PodsText, "others"))
	case r.Max == 1:
		said = "apart by"
	}
	return fmt.Sprintf("relation %q, %s %s", r.Name, said, r.Level)
}

// verb is the form of a verb, with what follows it, for a number of things.
func verb(number int64, one, many string) string {
	if number == 1 {
		return one
	}
	return many
}

// cutMessage are about what is needed at least, and what has room at most.
func cutMessage(cut *certificate.Cut, gang string, e *Explanation) (fits, missing string) {
	if len(cut.Pods) > 0 {
		e.Fit, e.Wanted = int(cut.Offer), int(cut.Need)
		return fmt.Sprintf("at most %d of %d pods fit", cut.Offer, cut.Need), ""
	}
	if _, whole := cut.Groups[gang]; whole {
		missing = ", which need one " + cut.Level
		if by := cut.By[0].Resource; by != "" {
			missing += " with enough " + by
		}
		return "too few pods fit", missing
	}
	what := "subgroups"
	for _, weight := range cut.Groups {
		if weight != 1 {
			what = "pods"
		}
	}
	return fmt.Sprintf("at most %d of %d %s fit", cut.Offer, cut.Need, what), ", each subgroup in one " + cut.Level
}
