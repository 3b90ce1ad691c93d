package packing

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Relation says how items stand in the domains of a level. Its items are the
// groups that name it in Group.Relations, none of which contains another; with
// PerPod their pods. An item stands in each domain in which one of its pods does.
//
// No new pod is placed against a required relation, and nothing that stands has to leave:
// where more items stand than may, none comes.
type Relation struct {
	// Name is what groups and answers call it, unique in the gang.
	Name string
	// Topology and Level (a node label key) say which domains are counted in. A pod of
	// an item needs a node that is in one.
	Topology, Level string
	// Max is how many items may stand in one domain, at least 1.
	Max int
	// Even has each domain that has items have as many as the others, if the relation is
	// Preferred. Max says nothing then.
	Even bool
	// Near are nodes where others stand: items stand in their domains and in no other.
	// It is not nil then, and Max and Even say nothing.
	Near []string
	// Whose is a noun phrase for the pods at Near, such as "gang a"; empty for "others".
	// It is used in explanations only.
	Whose string
	// Preferred relations are met as far as possible, after preferred levels and those
	// that come first first: as few items as can be have too many beside them, or too
	// few, or a pod in a domain that is not near or in none.
	Preferred bool
	// PerPod makes each pod of the groups an item.
	PerPod bool
	// Others are items of other gangs: for each the nodes where its pods stand. A node
	// that the cluster doesn't know is in no domain.
	Others [][]string
	// Joined are the nodes where pods of other gangs stand that are of the same item as
	// those of this one. The relation has one group then, and is not PerPod.
	Joined []string
}

// relation is a Relation with its names looked up.
type relation struct {
	source      *Relation
	slot, level int
	// items are the groups that name it.
	items []int
	// near are the domains that items are to stand in, by rank; nil for all.
	near []bool
	// base is how many items stand in each domain of the level, by rank, and count how
	// many with those of a trial. stood counts the pods of items that run, by domain.
	base, count []int
	stood       map[itemIn]int32
	limit
}

// itemIn is an item in a domain, by rank.
type itemIn struct{ relation, item, rank int32 }

// membership says that the pods of a leaf are of an item, or items, of a relation.
type membership struct{ relation, item int32 }

// relate looks the relations up, and what stands already. O(groups · depth +
// domains of the levels + running pods and Others).
func (p *problem) relate(gang *Gang) error {
	if err := p.nameRelations(gang); err != nil {
		return err
	}
	if len(p.relations) == 0 {
		return nil
	}
	p.stands, p.related = map[itemIn]int32{}, make([][]membership, len(p.groups))
	for i := range p.groups {
		if g := &p.groups[i]; g.leaf() {
			for up := i; up != counts.None; up = p.groups[up].parent {
				for _, r := range p.groups[up].relations {
					p.related[i] = append(p.related[i], membership{r, int32(up)})
				}
			}
		}
	}
	for r := range p.relations {
		p.countOthers(&p.relations[r])
		p.joinItem(r)
	}
	for i := range p.groups {
		for _, node := range p.knownNodes(p.groups[i].source.Running) {
			p.stand(i, node, 1)
		}
	}
	stood := maps.Clone(p.stands)
	for r := range p.relations {
		p.relations[r].base, p.relations[r].stood = slices.Clone(p.relations[r].count), stood
	}
	p.unbind()
	return nil
}

func (p *problem) nameRelations(gang *Gang) error {
	index := map[string]int32{}
	for k := range gang.Relations {
		source := &gang.Relations[k]
		r := relation{source: source}
		_, twice := index[source.Name]
		slot, known := p.cluster.SlotOf(source.Topology)
		if known {
			r.slot, r.level = slot, p.cluster.Topologies[slot].Level(source.Level)
		}
		switch {
		case twice:
			return fmt.Errorf("relation %q is there twice", source.Name)
		case source.Max < 1 && !source.Even && source.Near == nil:
			return fmt.Errorf("relation %q allows %d items in a domain; give at least 1", source.Name, source.Max)
		case source.Even && source.Near == nil && !source.Preferred:
			return fmt.Errorf("relation %q is required, and as many items in each domain can only be preferred", source.Name)
		case !known:
			return fmt.Errorf("relation %q names topology %q, which does not exist", source.Name, source.Topology)
		case r.level == counts.None:
			return fmt.Errorf("relation %q names level %q, which topology %q does not have; its levels are %q", source.Name,
				source.Level, source.Topology, p.cluster.Topologies[slot].Levels)
		}
		if !slices.Contains(p.slots, slot) {
			p.slots = append(p.slots, slot)
		}
		r.count = make([]int, len(p.cluster.Topologies[slot].RankedDomains(r.level)))
		r.most = slices.Repeat([]int{unlimited}, len(r.count))
		p.findNear(&r)
		index[source.Name] = int32(k)
		p.relations = append(p.relations, r)
	}
	return p.nameItems(index)
}

// nameItems finds the items of each relation.
func (p *problem) nameItems(index map[string]int32) error {
	for i := range p.groups {
		g := &p.groups[i]
		for _, name := range g.source.Relations {
			r, known := index[name]
			if !known {
				return fmt.Errorf("%s names relation %q, which the gang does not have", named(g.source), name)
			}
			for up := i; up != counts.None; up = p.groups[up].parent {
				if slices.Contains(p.groups[up].relations, r) {
					return fmt.Errorf("%s is in relation %q twice, by itself or by a group around it", named(g.source), name)
				}
			}
			g.relations = append(g.relations, r)
			p.relations[r].items = append(p.relations[r].items, i)
		}
	}
	for r := range p.relations {
		source := p.relations[r].source
		if len(source.Joined) > 0 && (source.PerPod || len(p.relations[r].items) > 1) {
			return fmt.Errorf("relation %q has %d groups, of which one item joins others", source.Name,
				len(p.relations[r].items))
		}
	}
	return nil
}

// findNear looks up the domains that items are to stand in.
func (p *problem) findNear(r *relation) {
	if r.source.Near == nil {
		return
	}
	r.near = make([]bool, len(r.count))
	for _, node := range p.knownNodes(r.source.Near) {
		if rank := p.rankIn(r, node); rank != counts.None {
			r.near[rank] = true
		}
	}
}

func (p *problem) countOthers(r *relation) {
	for _, nodes := range r.source.Others {
		var seen []int32
		for _, node := range p.knownNodes(nodes) {
			if rank := p.rankIn(r, node); rank != counts.None && !slices.Contains(seen, rank) {
				seen = append(seen, rank)
				r.count[rank]++
			}
		}
	}
}

// joinItem has the item of a relation stand where others' pods of it do.
func (p *problem) joinItem(r int) {
	for _, item := range p.relations[r].items {
		for _, node := range p.knownNodes(p.relations[r].source.Joined) {
			key := itemIn{int32(r), int32(item), p.rankIn(&p.relations[r], node)}
			if key.rank != counts.None && p.stands[key] == 0 {
				p.stands[key] = 1
				p.relations[r].count[key.rank]++
			}
		}
	}
}

// rankIn is the domain of a node that a relation counts in, by rank, or none.
func (p *problem) rankIn(r *relation, node int32) int32 {
	t := p.cluster.Topologies[r.slot]
	at := t.DomainOf(node, r.level)
	if at == counts.None {
		return counts.None
	}
	return t.Domains[at].Rank
}

// seek says for each item in which level's domain the greedy search looks for room
// first: one that the relation counts in.
func (p *problem) seek() {
	for i := range p.groups {
		g := &p.groups[i]
		g.sought = levelOf{level: counts.None}
		for _, at := range g.relations {
			r := &p.relations[at]
			if !r.bound || r.source.PerPod || g.sought.level != counts.None && g.sought.slot != r.slot ||
				g.slot != counts.None && g.slot != r.slot {
				continue
			}
			g.sought = levelOf{r.slot, max(g.required, g.sought.level, r.level)}
		}
	}
}

// levelOf is a level of a topology.
type levelOf struct{ slot, level int }

// stand counts pods of a leaf on a node, or takes them off. O(relations).
func (p *problem) stand(leaf int, node, pods int32) {
	for _, m := range p.related[leaf] {
		r := &p.relations[m.relation]
		rank := p.rankIn(r, node)
		switch {
		case rank == counts.None && r.bound:
			p.excess += int(pods)
		case rank == counts.None:
		case r.source.PerPod:
			p.take(r, rank, int(pods))
		default:
			key := itemIn{m.relation, m.item, rank}
			before := p.stands[key]
			if p.stands[key] = before + pods; before == 0 {
				p.take(r, rank, 1)
			} else if before+pods == 0 {
				p.take(r, rank, -1)
			}
		}
	}
}

func (p *problem) take(r *relation, rank int32, items int) {
	before := r.excess()
	was := r.count[rank]
	r.count[rank] += items
	r.over += max(0, r.count[rank]-r.most[rank]) - max(0, was-r.most[rank])
	switch {
	case was == 0 && items > 0:
		r.opened++
	case was > 0 && r.count[rank] == 0:
		r.opened--
	}
	p.excess += r.excess() - before
}

// mayStand reports whether an item may stand in a region, as far as relations say
// that count in domains around it.
func (p *problem) mayStand(i int, in region) bool {
	for _, at := range p.groups[i].relations {
		r := &p.relations[at]
		t := p.cluster.Topologies[r.slot]
		domain := in.within(r.slot)
		if domain != counts.None {
			domain = t.Ancestor(domain, r.level)
		}
		if !r.source.PerPod && domain != counts.None && !p.joins(membership{at, int32(i)}, t.Domains[domain].Rank) {
			return false
		}
	}
	return true
}

// joins reports whether an item stands in a domain, or may.
func (p *problem) joins(m membership, rank int32) bool {
	return p.relations[m.relation].takes(rank) > 0 || p.stands[itemIn{m.relation, m.item, rank}] > 0
}

// bars reports whether a required relation lets no further pod of a leaf onto a node.
func (p *problem) bars(at, leaf int, node int32) bool {
	r := &p.relations[at]
	if r.source.Preferred {
		return false
	}
	rank := p.rankIn(r, node)
	return slices.ContainsFunc(p.related[leaf], func(m membership) bool {
		switch {
		case int(m.relation) != at:
			return false
		case rank == counts.None:
			return true
		case r.source.PerPod:
			return r.takes(rank) == 0
		default:
			return !p.joins(m, rank)
		}
	})
}

// barred reports whether any required relation lets no further pod of a leaf onto a node.
func (p *problem) barred(leaf int, node int32) bool {
	for at := range p.relations {
		if p.bars(at, leaf, node) {
			return true
		}
	}
	return false
}

// allowance is how many pods of a leaf the relations let into a domain that count
// there or in a broader one.
func (p *problem) allowance(leaf int, domain int32, of levelOf) int64 {
	allowed := int64(math.MaxInt64)
	for _, m := range p.related[leaf] {
		r := &p.relations[m.relation]
		if r.slot != of.slot || !r.bound {
			continue
		}
		t := p.cluster.Topologies[r.slot]
		at := t.Ancestor(domain, r.level)
		if at == counts.None {
			continue
		}
		switch rank := t.Domains[at].Rank; {
		case r.source.PerPod:
			allowed = min(allowed, int64(r.takes(rank)))
		case !p.joins(m, rank):
			return 0
		}
	}
	return allowed
}

// counting is the narrowest level that relations of a leaf count in and that a
// region is not within one domain of, or that they count pods in; level none if
// there is none. Of several topologies it is that of the first relation.
func (p *problem) counting(leaf int, in region) levelOf {
	narrowest := levelOf{level: counts.None}
	for _, m := range p.related[leaf] {
		r := &p.relations[m.relation]
		if r.bound && (r.source.PerPod || !p.implied(in, r.slot, r.level)) {
			if narrowest.level == counts.None || narrowest.slot == r.slot && narrowest.level < r.level {
				narrowest = levelOf{r.slot, r.level}
			}
		}
	}
	return narrowest
}
