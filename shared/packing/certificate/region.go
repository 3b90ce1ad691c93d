package certificate

import (
	"encoding/binary"
	"slices"
)

// set is a set of nodes, a bit each.
type set []uint64

func newSet(nodes int) set { return make(set, nodes/64+1) }

func (s set) has(node int) bool { return node>>6 < len(s) && s[node>>6]&(1<<(node&63)) != 0 }

func (s set) add(node int) { s[node>>6] |= 1 << (node & 63) }

// meets reports whether sets have a node in common.
func (s set) meets(other set) bool {
	for i := range min(len(s), len(other)) {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// text is equal for equal sets.
func (s set) text() []byte {
	var text []byte
	for i, word := range s {
		if word != 0 {
			text = binary.LittleEndian.AppendUint64(binary.AppendUvarint(text, uint64(i)), word)
		}
	}
	return text
}

// region is the nodes that a group may use, ascending. Regions are shared, and equal
// if they are the same; nil has no node.
type region struct {
	nodes []int32
	// set is made when it is first asked for.
	set set
}

// fewNodes is up to how many nodes are looked for in the list.
const fewNodes = 16

func (r *region) has(node int) bool {
	if r == nil {
		return false
	}
	if len(r.nodes) <= fewNodes {
		return slices.Contains(r.nodes, int32(node))
	}
	return r.all().has(node)
}

// all is the nodes as a set.
func (r *region) all() set {
	if r.set == nil {
		r.set = newSet(int(r.nodes[len(r.nodes)-1]))
		for _, n := range r.nodes {
			r.set.add(int(n))
		}
	}
	return r.set
}

// joining is the part of a region where a group may go that must share a domain
// of a level with others.
func (m *Model) joining(r *region, topology, level string, others []int) *region {
	division := m.divide(topology, level)
	at := -1
	for i, node := range others {
		if division.of[node] < 0 || i > 0 && division.of[node] != at {
			return nil
		}
		at = division.of[node]
	}
	return m.within(r, division, at)
}

// within is the part of a region in a domain, or in any domain if that is -1.
func (m *Model) within(r *region, division *division, domain int) *region {
	if r == nil {
		return nil
	}
	key := regionIn{r, division, domain}
	if part, known := m.parts[key]; known {
		return part
	}
	part := &region{}
	switch {
	case domain >= 0 && r == m.everywhere:
		part.nodes = division.nodesOf(domain)
	case domain >= 0:
		m.spend(len(division.nodesOf(domain)))
		for _, node := range division.nodesOf(domain) {
			if r.has(int(node)) {
				part.nodes = append(part.nodes, node)
			}
		}
	default:
		m.spend(len(r.nodes))
		outside := func(node int32) bool { return division.of[node] < 0 }
		if part = r; slices.ContainsFunc(r.nodes, outside) {
			part = &region{nodes: slices.DeleteFunc(slices.Clone(r.nodes), outside)}
		}
	}
	switch len(part.nodes) {
	case 0:
		part = nil
	case len(r.nodes):
		part = r
	}
	m.parts[key] = part
	return part
}

// regionIn names a part of a region.
type regionIn struct {
	region   *region
	division *division
	domain   int
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
