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

// rowOf numbers what is free on a node.
func (v *verifier) rowOf(node int) int32 {
	if v.rows == nil {
		v.rows = make([]int32, v.nodes.Len())
	}
	if v.rows[node] == 0 {
		var room [128]byte
		text := room[:0]
		for _, amount := range v.row(node) {
			text = binary.LittleEndian.AppendUint64(text, uint64(amount))
		}
		v.rows[node] = int32(v.rowNumbers.of(text)) + 1
	}
	return v.rows[node]
}

// alike numbers nodes such that nodes of one number have equal amounts free and
// bar the same kinds.
func (v *verifier) alike(node int) int {
	if v.alikes != nil {
		return v.alikes[node]
	}
	alikes, numbers := make([]int, v.nodes.Len()), numbering{}
	var filters []set
	seen := map[*uint64]bool{}
	for i := range v.kinds {
		if allowed := v.kinds[i].allowed; len(allowed) > 0 && !seen[&allowed[0]] {
			seen[&allowed[0]] = true
			filters = append(filters, allowed)
		}
	}
	for i := range alikes {
		v.spend(1 + len(filters))
		text := binary.AppendUvarint(make([]byte, 0, 64), uint64(v.rowOf(i)))
		for at, allowed := range filters {
			if !allowed.has(i) {
				text = binary.AppendUvarint(text, uint64(at))
			}
		}
		alikes[i] = numbers.of(text)
	}
	v.alikes = alikes
	return alikes[node]
}

// unlike are those of some domains of a level that differ: of those that are alike,
// the first. See the package comment for when they are.
func (v *verifier) unlike(s *state, topology string, level int, of *division, domains []int) []int {
	if len(domains) < 2 {
		return domains
	}
	m := marker{verifier: v, regions: v.regionsOf(s), numbers: numbering{}, others: v.otherTopologies(topology)}
	var above *division
	for depth, name := range v.levels(topology) {
		switch {
		case depth > level:
			m.deeper = append(m.deeper, v.divide(topology, name))
		case depth == level-1:
			above = v.divide(topology, name)
		}
	}
	seen := map[[2]int]bool{}
	var unlike []int
	for _, domain := range domains {
		nodes := of.nodesOf(domain)
		key := [2]int{-1, m.domain(nodes, 0)}
		if above != nil {
			key[0] = above.of[nodes[0]]
		}
		if !seen[key] {
			seen[key] = true
			unlike = append(unlike, domain)
		}
	}
	return unlike
}

// domainsOf are the domains of a level that have nodes of a region.
func (v *verifier) domainsOf(division *division, r *region) []int {
	if r == nil {
		return nil
	}
	v.spend(1 + len(r.nodes) + len(division.paths))
	met := make([]bool, len(division.paths))
	for _, node := range r.nodes {
		if at := division.of[node]; at >= 0 {
			met[at] = true
		}
	}
	var domains []int
	for domain, meets := range met {
		if meets {
			domains = append(domains, domain)
		}
	}
	return domains
}

// regionsOf are the different regions of a state.
func (v *verifier) regionsOf(s *state) []*region {
	v.spend(len(v.in.Groups))
	known := map[*region]bool{nil: true}
	var regions []*region
	for i := range v.in.Groups {
		if r := v.region(s, i); !known[r] {
			known[r] = true
			regions = append(regions, r)
		}
	}
	return regions
}

// otherTopologies are the levels of those of which groups require levels, or relations
// count in, but for one.
func (v *verifier) otherTopologies(topology string) []*division {
	met := []string{topology}
	var others []*division
	add := func(topology string) {
		if !slices.Contains(met, topology) {
			met = append(met, topology)
			for _, level := range v.levels(topology) {
				others = append(others, v.divide(topology, level))
			}
		}
	}
	for i := range v.in.Groups {
		if g := &v.in.Groups[i]; g.Required != "" {
			add(g.Topology)
		}
	}
	for _, r := range v.relations {
		add(r.source.Topology)
	}
	return others
}

// marker numbers domains such that those of one number, below one domain, may be
// swapped.
type marker struct {
	*verifier
	regions []*region
	// deeper are the levels below, others those of other topologies.
	deeper, others []*division
	numbers        numbering
}

// domain numbers the nodes of a domain by what they are and by how the levels
// from depth on divide them.
func (m *marker) domain(nodes []int32, depth int) int {
	m.spend(len(nodes) * (1 + len(m.regions)))
	if len(nodes) == 1 {
		// Levels below that matter are those of regions and relations.
		return m.numbers.of(binary.AppendUvarint([]byte{'s'}, uint64(m.one(int(nodes[0])))))
	}
	below := map[int][]int32{}
	var parts []int
	for _, node := range nodes {
		if depth < len(m.deeper) && m.deeper[depth].of[node] >= 0 {
			below[m.deeper[depth].of[node]] = append(below[m.deeper[depth].of[node]], node)
		} else {
			parts = append(parts, m.one(int(node)))
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
			text = binary.AppendUvarint(text, uint64(i)+1)
		}
	}
	text = m.standsAs(append(text, 0), node)
	for _, division := range m.others {
		text = binary.AppendVarint(text, int64(division.of[node]))
	}
	return m.numbers.of(text)
}
