package preemption

import (
	"maps"
	"slices"

	"packtree.dev/shared/packing"
)

// domain is where all pods of the gang have to go.
type domain struct {
	topology string
	path     packing.Path
	nodes    []string
	// occupants are the workloads with pods on the nodes, by index, and which of their pods those are.
	occupants []occupant
	// lacking is by how much the demand of the gang is above what is free while everybody stands.
	lacking packing.Resources
	// estimate is what room for the gang costs here if the domain were one node.
	estimate Cost
}

// occupant is a workload that has pods in a domain.
type occupant struct {
	workload int
	pods     []int
}

// has reports whether any of the nodes is in the domain.
func (d *domain) has(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(node string) bool {
		_, found := slices.BinarySearch(d.nodes, node)
		return found
	})
}

// domains returns the domains with possible victims, one for all nodes if the gang as a whole needs no single domain. A
// gang with running pods has only the domain in which they stand.
func (s *search) domains() []*domain {
	root := &s.q.Gang.Root.Constraint
	depth := slices.Index(s.q.Levels[root.Topology], root.Required) + 1
	var all []*domain
	if root.Required == "" || depth == 0 {
		all = []*domain{{nodes: s.q.Nodes}}
	} else {
		all = s.split(root.Topology, depth)
	}
	s.settleTenants(all)
	demand := demandOf(&s.asked.Root)
	s.release(set{})
	own := running(&s.q.Gang.Root)
	var open []*domain
	for _, d := range all {
		if len(d.occupants) == 0 || len(d.path) > 0 && !s.open(d, own) {
			continue
		}
		d.lacking = s.lacking(d, demand)
		if !s.enough(d) {
			continue // There is less than the gang asks for, though all leave.
		}
		d.estimate = s.estimate(d)
		open = append(open, d)
	}
	return open
}

// split returns the domains of a level, counted from 1.
func (s *search) split(topology string, depth int) []*domain {
	byPath := map[string]*domain{}
	var all []*domain
	for _, node := range s.q.Nodes {
		path := s.q.Cluster.PathOf(topology, node)
		if len(path) < depth {
			continue
		}
		name := path[:depth].String()
		if byPath[name] == nil {
			byPath[name] = &domain{topology: topology, path: path[:depth]}
			all = append(all, byPath[name])
		}
		byPath[name].nodes = append(byPath[name].nodes, node)
	}
	return all
}

func (s *search) settleTenants(domains []*domain) {
	home := map[string]*domain{}
	for _, d := range domains {
		for _, node := range d.nodes {
			home[node] = d
		}
	}
	for i, w := range s.workloads {
		for p := range w.Pods {
			d := home[w.Pods[p].Node]
			if d == nil {
				continue
			}
			if last := len(d.occupants) - 1; last < 0 || d.occupants[last].workload != i {
				d.occupants = append(d.occupants, occupant{workload: i})
			}
			last := &d.occupants[len(d.occupants)-1]
			last.pods = append(last.pods, p)
		}
	}
}

// lacking returns by how much the demand is above what is free, of what is counted in the requests of pods: host ports
// and NUMA zones are not, and may be free once pods have left.
func (s *search) lacking(d *domain, demand packing.Resources) packing.Resources {
	lacking := packing.Resources{}
	for name, amount := range demand {
		if !s.requested[name] {
			continue
		}
		for _, node := range d.nodes {
			amount -= s.q.Cluster.Free(node, name)
		}
		if amount > 0 {
			lacking[name] = amount
		}
	}
	return lacking
}

// reduce takes what the occupant holds off what is lacking.
func (s *search) reduce(lacking packing.Resources, by occupant) {
	for _, p := range by.pods {
		for name, amount := range s.workloads[by.workload].Pods[p].Requests {
			if lacking[name] -= amount; lacking[name] <= 0 {
				delete(lacking, name)
			}
		}
	}
}

// estimate adds up resources as if the domain were one node, which the least important occupants leave until there is
// enough. There is enough once all have left.
func (s *search) estimate(d *domain) Cost {
	held := map[int]occupant{}
	for _, t := range d.occupants {
		held[t.workload] = t
	}
	lacking := maps.Clone(d.lacking)
	ordered, _ := s.ordered(d)
	for i, workload := range ordered {
		if s.reduce(lacking, held[workload]); len(lacking) == 0 {
			return s.costOf(s.leaving(ordered[:i+1]))
		}
	}
	return s.costOf(s.leaving(ordered))
}

// enough reports whether all occupants together hold what is lacking.
func (s *search) enough(d *domain) bool {
	lacking := maps.Clone(d.lacking)
	for _, t := range d.occupants {
		s.reduce(lacking, t)
	}
	return len(lacking) == 0
}

// running returns the nodes of the gang's own pods.
func running(group *packing.Group) []string {
	nodes := slices.Clone(group.Running)
	for i := range group.Children {
		nodes = append(nodes, running(&group.Children[i])...)
	}
	return nodes
}

// open reports whether the gang may go there: a domain that holds what of it already runs, and agrees with the
// domains that it shares with others.
func (s *search) open(d *domain, running []string) bool {
	for _, node := range running {
		if path := s.q.Cluster.PathOf(d.topology, node); path != nil && !agree(path, d.path) {
			return false
		}
	}
	for _, anchor := range s.q.Gang.Root.Follow {
		depth := slices.Index(s.q.Levels[anchor.Topology], anchor.Level) + 1
		for _, node := range anchor.Nodes {
			path := s.q.Cluster.PathOf(anchor.Topology, node)
			if anchor.Topology == d.topology && path != nil && !agree(path[:min(depth, len(path))], d.path) {
				return false
			}
		}
	}
	return true
}

// agree reports whether one of the domains lies in the other.
func agree(a, b packing.Path) bool {
	depth := min(len(a), len(b))
	return slices.Equal(a[:depth], b[:depth])
}

// demandOf returns what the pods that a group needs ask for together, at least.
func demandOf(group *packing.Group) packing.Resources {
	if len(group.Children) > 0 {
		demands := make([]packing.Resources, len(group.Children))
		for i := range group.Children {
			demands[i] = demandOf(&group.Children[i])
		}
		needed := len(demands)
		if group.MinSubGroups != nil {
			needed = *group.MinSubGroups
		}
		return smallest(demands, needed)
	}
	var demands []packing.Resources
	for _, pods := range group.Pending {
		for range pods.Names {
			demands = append(demands, pods.Shape.Requests)
		}
	}
	return smallest(demands, max(0, group.MinMember-len(group.Running)))
}

// smallest adds up, resource by resource, the smallest of the demands.
func smallest(demands []packing.Resources, count int) packing.Resources {
	amounts := map[string][]int64{}
	for _, demand := range demands {
		for name, amount := range demand {
			amounts[name] = append(amounts[name], amount)
		}
	}
	total := packing.Resources{}
	for name, asked := range amounts {
		// The others do not request the resource.
		slices.Sort(asked)
		without := len(demands) - len(asked)
		for _, amount := range asked[:max(0, min(count-without, len(asked)))] {
			total[name] += amount
		}
	}
	return total
}
