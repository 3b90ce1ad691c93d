package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// counts are the items of a relation by domain after a placement, and how many of them
// have a new pod in none.
func (p *problem) counts(at int, placements []placement) (items []int, astray int) {
	r := &p.relations[at]
	items = slices.Clone(r.base)
	seen := map[itemIn]bool{}
	for _, pl := range placements {
		for _, m := range p.related[pl.leaf] {
			if int(m.relation) != at {
				continue
			}
			rank := p.rankIn(r, pl.node)
			key := itemIn{m.relation, m.item, rank}
			switch {
			case rank == counts.None && r.source.PerPod:
				astray += int(pl.pods)
			case rank == counts.None:
				if !seen[key] && !p.astray(r, int(m.item)) {
					astray++
				}
			case r.source.PerPod:
				items[rank] += int(pl.pods)
			case !seen[key] && r.stood[key] == 0:
				items[rank]++
			}
			seen[key] = true
		}
	}
	return items, astray
}

// astray reports whether an item has a pod that runs in no domain.
func (p *problem) astray(r *relation, item int) bool {
	return slices.ContainsFunc(p.runningNodes(item), func(node int32) bool { return p.rankIn(r, node) == counts.None })
}

// lack is how many items would have to go or to come for a relation to hold after a
// placement, beside those of which too many stand.
func (p *problem) lack(at int, placements []placement) int {
	items, lacks := p.counts(at, placements)
	return lacks + p.relations[at].lack(items, p.relations[at].base)
}

// lack is how many of some items by domain would have to go or to come, beside those of
// which too many stood before.
func (r *relation) lack(items, before []int) int {
	lacks := 0
	high := slices.Max(append(slices.Clone(items), 0))
	for rank, n := range items {
		switch {
		case n == 0:
		case r.near != nil && !r.near[rank]:
			lacks += n - before[rank]
		case r.near != nil:
		case r.source.Even:
			lacks += high - n
		default:
			lacks += max(0, n-max(r.source.Max, before[rank]))
		}
	}
	return lacks
}

// lacks is Cluster.Lacks.
func lacks(c *counts.Cluster, gang *Gang) ([]int, error) {
	p, err := newProblem(c, gang)
	if err != nil {
		return nil, err
	}
	lacks := make([]int, len(p.relations))
	for at := range p.relations {
		r := &p.relations[at]
		lacks[at] = r.lack(r.base, make([]int, len(r.base)))
		for _, item := range r.items {
			for _, node := range p.runningNodes(item) {
				if p.rankIn(r, node) != counts.None {
					continue
				}
				if lacks[at]++; !r.source.PerPod {
					break
				}
			}
		}
	}
	return lacks, nil
}

// lacking has what preferred relations lack.
func (p *problem) lacking(placements []placement) []int {
	var lacks []int
	for _, at := range p.preferred() {
		lacks = append(lacks, p.lack(at, placements))
	}
	return lacks
}
