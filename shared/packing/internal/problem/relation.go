package problem

import (
	"fmt"
	"maps"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Relation limits how items stand in the domains of a level. Its items are the groups that name it in Group.Relations,
// none inside another; with PerPod, their pods. An item stands in each domain that has one of its pods.
//
// A new pod never breaks a required relation, and no running pod has to leave: a domain with too many items takes no
// further one.
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
	// PodsText is a noun phrase for the pods at Near, such as "gang a"; empty for "others". Explanations use it.
	PodsText string
	// Preferred relations are met as far as possible, after preferred levels and earlier relations: the number of items
	// with too many or too few items beside them, or with a pod outside the near domains, is as small as possible.
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

// RelationCount is a Relation with its names looked up.
type RelationCount struct {
	Source      *Relation
	Slot, Level int
	// Items are the groups that name it.
	Items []int
	// Near are the domains that items are to stand in, by rank; nil for all.
	Near []bool
	// base is how many items stand in each domain of the level, by rank, and count how
	// many with those of a trial. stood counts the pods of items that run, by domain.
	base, count []int
	stood       map[ItemIn]int32
	limit
}

// ItemIn is an item in a domain, by rank.
type ItemIn struct{ Relation, Item, Rank int32 }

// Membership says that the pods of a leaf are of an item, or items, of a relation.
type Membership struct{ Relation, Item int32 }

// relate looks the relations up, and what stands already. O(groups · depth +
// domains of the levels + running pods and Others).
func (p *Problem) relate(gang *Gang) error {
	if err := p.nameRelations(gang); err != nil {
		return err
	}
	if len(p.Relations) == 0 {
		return nil
	}
	p.Stands, p.Related = map[ItemIn]int32{}, make([][]Membership, len(p.Groups))
	for i := range p.Groups {
		if g := &p.Groups[i]; g.Leaf() {
			for up := i; up != counts.None; up = p.Groups[up].Parent {
				for _, r := range p.Groups[up].Relations {
					p.Related[i] = append(p.Related[i], Membership{r, int32(up)})
				}
			}
		}
	}
	for r := range p.Relations {
		p.countOthers(&p.Relations[r])
		p.joinItem(r)
	}
	for i := range p.Groups {
		for _, node := range p.knownNodes(p.Groups[i].Source.Running) {
			p.stand(i, node, 1)
		}
	}
	stood := maps.Clone(p.Stands)
	for r := range p.Relations {
		p.Relations[r].base, p.Relations[r].stood = slices.Clone(p.Relations[r].count), stood
	}
	p.Unbind()
	return nil
}

func (p *Problem) nameRelations(gang *Gang) error {
	index := map[string]int32{}
	for k := range gang.Relations {
		source := &gang.Relations[k]
		r := RelationCount{Source: source}
		_, twice := index[source.Name]
		slot, known := p.Cluster.SlotOf(source.Topology)
		if known {
			r.Slot, r.Level = slot, p.Cluster.Topologies[slot].Level(source.Level)
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
		case r.Level == counts.None:
			return fmt.Errorf("relation %q names level %q, which topology %q does not have; its levels are %q", source.Name,
				source.Level, source.Topology, p.Cluster.Topologies[slot].Levels)
		}
		if !slices.Contains(p.slots, slot) {
			p.slots = append(p.slots, slot)
		}
		r.count = make([]int, len(p.Cluster.Topologies[slot].RankedDomains(r.Level)))
		r.Most = slices.Repeat([]int{Unlimited}, len(r.count))
		p.findNear(&r)
		index[source.Name] = int32(k)
		p.Relations = append(p.Relations, r)
	}
	return p.nameItems(index)
}

// nameItems finds the items of each relation.
func (p *Problem) nameItems(index map[string]int32) error {
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, name := range g.Source.Relations {
			r, known := index[name]
			if !known {
				return fmt.Errorf("%s names relation %q, which the gang does not have", Named(g.Source), name)
			}
			for up := i; up != counts.None; up = p.Groups[up].Parent {
				if slices.Contains(p.Groups[up].Relations, r) {
					return fmt.Errorf("%s is in relation %q twice, by itself or by a group around it", Named(g.Source), name)
				}
			}
			g.Relations = append(g.Relations, r)
			p.Relations[r].Items = append(p.Relations[r].Items, i)
		}
	}
	for r := range p.Relations {
		source := p.Relations[r].Source
		if len(source.Joined) > 0 && (source.PerPod || len(p.Relations[r].Items) > 1) {
			return fmt.Errorf("relation %q has %d groups; an item that joins others must be the only one", source.Name,
				len(p.Relations[r].Items))
		}
	}
	return nil
}

// findNear looks up the domains that items are to stand in.
func (p *Problem) findNear(r *RelationCount) {
	if r.Source.Near == nil {
		return
	}
	r.Near = make([]bool, len(r.count))
	for _, node := range p.knownNodes(r.Source.Near) {
		if rank := p.rankIn(r, node); rank != counts.None {
			r.Near[rank] = true
		}
	}
}

func (p *Problem) countOthers(r *RelationCount) {
	for _, nodes := range r.Source.Others {
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
func (p *Problem) joinItem(r int) {
	for _, item := range p.Relations[r].Items {
		for _, node := range p.knownNodes(p.Relations[r].Source.Joined) {
			key := ItemIn{int32(r), int32(item), p.rankIn(&p.Relations[r], node)}
			if key.Rank != counts.None && p.Stands[key] == 0 {
				p.Stands[key] = 1
				p.Relations[r].count[key.Rank]++
			}
		}
	}
}

// rankIn is the domain of a node that a relation counts in, by rank, or none.
func (p *Problem) rankIn(r *RelationCount, node int32) int32 {
	t := p.Cluster.Topologies[r.Slot]
	at := t.DomainOf(node, r.Level)
	if at == counts.None {
		return counts.None
	}
	return t.Domains[at].Rank
}

// Seek says for each item in which level's domain the greedy search looks for room
// first: one that the relation counts in.
func (p *Problem) Seek() {
	for i := range p.Groups {
		g := &p.Groups[i]
		g.Sought = LevelOf{Level: counts.None}
		for _, at := range g.Relations {
			r := &p.Relations[at]
			if !r.Bound || r.Source.PerPod || g.Sought.Level != counts.None && g.Sought.Slot != r.Slot ||
				g.Slot != counts.None && g.Slot != r.Slot {
				continue
			}
			g.Sought = LevelOf{r.Slot, max(g.Required, g.Sought.Level, r.Level)}
		}
	}
}

// LevelOf is a level of a topology.
type LevelOf struct{ Slot, Level int }

// stand counts pods of a leaf on a node, or takes them off. O(relations).
func (p *Problem) stand(leaf int, node, pods int32) {
	for _, m := range p.Related[leaf] {
		r := &p.Relations[m.Relation]
		rank := p.rankIn(r, node)
		switch {
		case rank == counts.None && r.Bound:
			p.Excess += int(pods)
		case rank == counts.None:
		case r.Source.PerPod:
			p.take(r, rank, int(pods))
		default:
			key := ItemIn{m.Relation, m.Item, rank}
			before := p.Stands[key]
			if p.Stands[key] = before + pods; before == 0 {
				p.take(r, rank, 1)
			} else if before+pods == 0 {
				p.take(r, rank, -1)
			}
		}
	}
}

func (p *Problem) take(r *RelationCount, rank int32, items int) {
	before := r.excess()
	was := r.count[rank]
	r.count[rank] += items
	r.over += max(0, r.count[rank]-r.Most[rank]) - max(0, was-r.Most[rank])
	switch {
	case was == 0 && items > 0:
		r.opened++
	case was > 0 && r.count[rank] == 0:
		r.opened--
	}
	p.Excess += r.excess() - before
}
