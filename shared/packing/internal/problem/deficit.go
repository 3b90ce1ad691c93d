package problem

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Counts are the items of a relation by domain after a placement, and how many of them
// have a new pod in none.
func (p *Problem) Counts(at int, placements []Placement) (items []int, astray int) {
	r := &p.Relations[at]
	items = slices.Clone(r.base)
	seen := map[ItemIn]bool{}
	for _, pl := range placements {
		for _, m := range p.Related[pl.Leaf] {
			if int(m.Relation) != at {
				continue
			}
			rank := p.rankIn(r, pl.Node)
			key := ItemIn{m.Relation, m.Item, rank}
			switch {
			case rank == counts.None && r.Source.PerPod:
				astray += int(pl.Pods)
			case rank == counts.None:
				if !seen[key] && !p.astray(r, int(m.Item)) {
					astray++
				}
			case r.Source.PerPod:
				items[rank] += int(pl.Pods)
			case !seen[key] && r.stood[key] == 0:
				items[rank]++
			}
			seen[key] = true
		}
	}
	return items, astray
}

// astray reports whether an item has a pod that runs in no domain.
func (p *Problem) astray(r *RelationCount, item int) bool {
	return slices.ContainsFunc(p.RunningNodes(item), func(node int32) bool { return p.rankIn(r, node) == counts.None })
}

// deficit is how many items must leave or join for a relation to hold after a placement, not counting the excess that
// was there before.
func (p *Problem) deficit(at int, placements []Placement) int {
	items, deficit := p.Counts(at, placements)
	return deficit + p.Relations[at].deficit(items, p.Relations[at].base)
}

// deficit is how many of some items by domain must leave or join, not counting the excess that was there before.
func (r *RelationCount) deficit(items, before []int) int {
	deficit := 0
	high := slices.Max(append(slices.Clone(items), 0))
	for rank, n := range items {
		switch {
		case n == 0:
		case r.Near != nil && !r.Near[rank]:
			deficit += n - before[rank]
		case r.Near != nil:
		case r.Source.Even:
			deficit += high - n
		default:
			deficit += max(0, n-max(r.Source.Max, before[rank]))
		}
	}
	return deficit
}

// Deficits is Cluster.Deficits.
func Deficits(c *counts.Cluster, gang *Gang) ([]int, error) {
	p, err := New(c, gang)
	if err != nil {
		return nil, err
	}
	deficits := make([]int, len(p.Relations))
	for at := range p.Relations {
		r := &p.Relations[at]
		deficits[at] = r.deficit(r.base, make([]int, len(r.base)))
		for _, item := range r.Items {
			for _, node := range p.RunningNodes(item) {
				if p.rankIn(r, node) != counts.None {
					continue
				}
				if deficits[at]++; !r.Source.PerPod {
					break
				}
			}
		}
	}
	return deficits, nil
}

// deficits has what preferred relations lack.
func (p *Problem) deficits(placements []Placement) []int {
	var deficits []int
	for _, at := range p.Preferred() {
		deficits = append(deficits, p.deficit(at, placements))
	}
	return deficits
}
