package certificate

import (
	"encoding/binary"
	"slices"
)

// numbering gives equal texts equal numbers.
type numbering map[string]int

func (n numbering) of(text []byte) int {
	number, known := n[string(text)]
	if !known {
		number = len(n)
		n[string(text)] = number
	}
	return number
}

// alike numbers nodes such that nodes of one number have equal amounts free and
// bar the same kinds.
func (v *verifier) alike(node int) int {
	if v.alikes == nil {
		v.alikes = make([]int, len(v.in.Nodes))
		numbers := numbering{}
		for i, free := range v.free {
			v.spend(1 + len(free))
			text := make([]byte, 0, 64)
			for _, amount := range free {
				text = binary.AppendVarint(text, amount)
			}
			for kind := range v.in.Kinds {
				if barred := v.in.Kinds[kind].Barred; len(barred) > 0 && barred[i] {
					text = binary.AppendUvarint(text, uint64(kind))
				}
			}
			v.alikes[i] = numbers.of(text)
		}
	}
	return v.alikes[node]
}

// unlike are the domains of a level that have nodes of a region: of those that
// are alike, the first. See the package comment for when they are.
func (v *verifier) unlike(s *state, topology string, level int, division *division, r region) []int {
	domains := v.domainsOf(division, r)
	if len(domains) < 2 {
		return domains
	}
	m := marker{verifier: v, topology: topology, regions: v.regionsOf(s), numbers: numbering{}, others: v.otherTopologies(topology)}
	seen := map[[2]int]bool{}
	return slices.DeleteFunc(domains, func(domain int) bool {
		nodes := division.nodes[domain]
		above := -1
		if level > 0 {
			above = v.divide(topology, v.levels(topology)[level-1]).of[nodes[0]]
		}
		key := [2]int{above, m.domain(nodes, level+1)}
		alike := seen[key]
		seen[key] = true
		return alike
	})
}

// domainsOf are the domains of a level that have nodes of a region.
func (v *verifier) domainsOf(division *division, r region) []int {
	met := make([]bool, len(division.paths))
	r.each(func(node int) {
		if at := division.of[node]; at >= 0 {
			met[at] = true
		}
	})
	var domains []int
	for domain, meets := range met {
		if meets {
			domains = append(domains, domain)
		}
	}
	v.spend(1 + len(r) + len(met))
	return domains
}

// regionsOf are the different regions of a state.
func (v *verifier) regionsOf(s *state) []region {
	v.spend(len(s.regions))
	known := map[*uint64]bool{}
	var regions []region
	for _, r := range s.regions {
		if r != nil && !known[&r[0]] {
			known[&r[0]] = true
			regions = append(regions, r)
		}
	}
	return regions
}

// otherTopologies are those of which groups require levels, but for one.
func (v *verifier) otherTopologies(topology string) []string {
	var others []string
	for i := range v.in.Groups {
		if g := &v.in.Groups[i]; g.Required != "" && g.Topology != topology && !slices.Contains(others, g.Topology) {
			others = append(others, g.Topology)
		}
	}
	return others
}

// marker numbers domains such that those of one number, below one domain, may be
// swapped.
type marker struct {
	*verifier
	topology string
	regions  []region
	others   []string
	numbers  numbering
}

// domain numbers the nodes of a domain by what they are and by how the levels
// from depth on divide them.
func (m *marker) domain(nodes []int, depth int) int {
	m.spend(len(nodes) * (1 + len(m.regions)))
	if len(nodes) == 1 {
		deeper := max(0, len(m.in.Nodes[nodes[0]].Domains[m.topology])-depth)
		return m.numbers.of(binary.AppendUvarint(binary.AppendUvarint([]byte{'s'}, uint64(deeper)), uint64(m.one(nodes[0]))))
	}
	below := map[string][]int{}
	var parts []int
	for _, node := range nodes {
		if path := m.in.Nodes[node].Domains[m.topology]; depth < len(path) {
			below[path[depth]] = append(below[path[depth]], node)
		} else {
			parts = append(parts, m.one(node))
		}
	}
	for _, inner := range below {
		parts = append(parts, m.domain(inner, depth+1))
	}
	slices.Sort(parts)
	text := []byte{'d'}
	for _, part := range parts {
		text = binary.AppendUvarint(text, uint64(part))
	}
	return m.numbers.of(text)
}

// one numbers a node that no deeper level divides.
func (m *marker) one(node int) int {
	text := binary.AppendUvarint([]byte{'n'}, uint64(m.alike(node)))
	for i, r := range m.regions {
		if r.has(node) {
			text = binary.AppendUvarint(text, uint64(i))
		}
	}
	for _, topology := range m.others {
		text = append(text, 0)
		text = append(text, pathText(m.in.Nodes[node].Domains[topology])...)
	}
	return m.numbers.of(text)
}
