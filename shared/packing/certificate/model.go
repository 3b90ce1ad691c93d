package certificate

import (
	"fmt"
	"slices"
	"strings"
)

// model is an Input with its names looked up.
type model struct {
	in       *Input
	node     map[string]int
	group    map[string]int
	pod      map[string]podAt
	children [][]int
	// end is the index after a group's last descendant.
	end []int
	// resources are those that any kind asks for; free is by node, requests by kind.
	resources map[string]int
	free      [][]int64
	requests  [][]int64
	divisions map[[2]string]*division
}

// podAt is where a pending pod belongs.
type podAt struct{ leaf, kind int }

// division is the domains of one level.
type division struct {
	// of is the domain of each node, -1 for none.
	of []int
	// paths are sorted; nodes are those of each domain.
	paths []string
	nodes [][]int
}

// newModel looks the names up. The error says what contradicts itself.
func newModel(in *Input) (*model, error) {
	pods := 0
	for i := range in.Groups {
		for _, pending := range in.Groups[i].Pending {
			pods += len(pending.Names)
		}
	}
	m := &model{
		in: in, node: make(map[string]int, len(in.Nodes)), group: make(map[string]int, len(in.Groups)), pod: make(map[string]podAt, pods),
		children: make([][]int, len(in.Groups)), end: make([]int, len(in.Groups)),
		resources: map[string]int{}, divisions: map[[2]string]*division{},
	}
	for i := range in.Nodes {
		if _, twice := m.node[in.Nodes[i].Name]; twice {
			return nil, fmt.Errorf("node %q is there twice", in.Nodes[i].Name)
		}
		m.node[in.Nodes[i].Name] = i
	}
	if err := m.readKinds(); err != nil {
		return nil, err
	}
	if len(in.Groups) == 0 {
		return nil, fmt.Errorf("there is no group")
	}
	for i := range in.Groups {
		if err := m.readGroup(i); err != nil {
			return nil, err
		}
	}
	return m, m.readTree()
}

func (m *model) readKinds() error {
	for k, kind := range m.in.Kinds {
		if len(kind.Barred) != 0 && len(kind.Barred) != len(m.in.Nodes) {
			return fmt.Errorf("kind %d is barred or not from %d nodes of %d", k, len(kind.Barred), len(m.in.Nodes))
		}
		for name, amount := range kind.Requests {
			if _, known := m.resources[name]; !known && amount > 0 {
				m.resources[name] = len(m.resources)
			}
		}
	}
	for _, kind := range m.in.Kinds {
		m.requests = append(m.requests, m.amounts(kind.Requests))
	}
	m.free = make([][]int64, len(m.in.Nodes))
	all := make([]int64, len(m.in.Nodes)*len(m.resources))
	for i := range m.in.Nodes {
		m.free[i] = all[i*len(m.resources) : (i+1)*len(m.resources) : (i+1)*len(m.resources)]
		m.read(m.free[i], m.in.Nodes[i].Free)
	}
	return nil
}

func (m *model) amounts(named map[string]int64) []int64 {
	amounts := make([]int64, len(m.resources))
	m.read(amounts, named)
	return amounts
}

// read fills in amounts by resource.
func (m *model) read(amounts []int64, named map[string]int64) {
	for name, i := range m.resources {
		amounts[i] = max(0, named[name])
	}
}

func (m *model) readGroup(i int) error {
	g := &m.in.Groups[i]
	if _, twice := m.group[g.Name]; twice {
		return fmt.Errorf("group %q is there twice", g.Name)
	}
	m.group[g.Name] = i
	if (i == 0) != (g.Parent == -1) || g.Parent < -1 || g.Parent >= i {
		return fmt.Errorf("group %q has a parent that does not come before it", g.Name)
	}
	last := i - 1
	for last > g.Parent {
		last = m.in.Groups[last].Parent
	}
	if last != g.Parent {
		return fmt.Errorf("group %q is not in preorder", g.Name)
	}
	if i > 0 {
		m.children[g.Parent] = append(m.children[g.Parent], i)
	}
	if g.Required != "" && m.level(g.Topology, g.Required) < 0 {
		return fmt.Errorf("group %q requires level %q, which topology %q does not have", g.Name, g.Required, g.Topology)
	}
	for _, pods := range g.Pending {
		if pods.Kind < 0 || pods.Kind >= len(m.in.Kinds) {
			return fmt.Errorf("group %q has pods of kind %d of %d", g.Name, pods.Kind, len(m.in.Kinds))
		}
		for _, name := range pods.Names {
			if _, twice := m.pod[name]; twice {
				return fmt.Errorf("pod %q is there twice", name)
			}
			m.pod[name] = podAt{i, pods.Kind}
		}
	}
	return nil
}

func (m *model) readTree() error {
	for i := len(m.end) - 1; i >= 0; i-- {
		g := &m.in.Groups[i]
		m.end[i] = i + 1
		if n := len(m.children[i]); n > 0 {
			m.end[i] = m.end[m.children[i][n-1]]
		}
		if !m.leaf(i) && len(g.Pending)+len(g.Running) > 0 {
			return fmt.Errorf("group %q has children and pods", g.Name)
		}
	}
	return nil
}

func (m *model) leaf(group int) bool { return len(m.children[group]) == 0 }

// level is the index of a level, or -1.
func (m *model) level(topology, level string) int {
	return slices.Index(m.levels(topology), level)
}

func (m *model) levels(topology string) []string {
	for _, t := range m.in.Topologies {
		if t.Name == topology {
			return t.Levels
		}
	}
	return nil
}

// divide sorts the nodes by their domain of a level that exists.
func (m *model) divide(topology, level string) *division {
	key := [2]string{topology, level}
	if d := m.divisions[key]; d != nil {
		return d
	}
	depth := m.level(topology, level)
	d := &division{of: make([]int, len(m.in.Nodes))}
	index := map[string]int{}
	for i := range m.in.Nodes {
		d.of[i] = -1
		if path := m.in.Nodes[i].Domains[topology]; len(path) > depth {
			text := pathText(path[:depth+1])
			at, known := index[text]
			if !known {
				at = len(d.paths)
				index[text] = at
				d.paths = append(d.paths, text)
			}
			d.of[i] = at
		}
	}
	slices.Sort(d.paths)
	sorted := make([]int, len(d.paths))
	for at, path := range d.paths {
		sorted[index[path]] = at
	}
	d.nodes = make([][]int, len(d.paths))
	for i, at := range d.of {
		if at >= 0 {
			d.of[i] = sorted[at]
			d.nodes[sorted[at]] = append(d.nodes[sorted[at]], i)
		}
	}
	m.divisions[key] = d
	return d
}

var pathEscaper = strings.NewReplacer("%", "%25", "/", "%2F")

// pathText joins label values such that different paths never read alike.
func pathText(path []string) string {
	if len(path) == 1 {
		return pathEscaper.Replace(path[0])
	}
	escaped := make([]string, len(path))
	for i, value := range path {
		escaped[i] = pathEscaper.Replace(value)
	}
	return strings.Join(escaped, "/")
}

// known are the nodes of a list that the input has.
func (m *model) known(names []string) []int {
	var nodes []int
	for _, name := range names {
		if i, ok := m.node[name]; ok {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// running are the known nodes of running pods of a group and its descendants.
func (m *model) running(group int) []int {
	var nodes []int
	for i := group; i < m.end[group]; i++ {
		nodes = append(nodes, m.known(m.in.Groups[i].Running)...)
	}
	return nodes
}
