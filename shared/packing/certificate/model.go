package certificate

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Model is a question with its names looked up. It remembers what judging one proof
// has worked out, for the next. One goroutine may use it at a time.
type Model struct {
	in         *Input
	nodes      Nodes
	unfiltered bool
	group      map[string]int
	// pod is by name; nil until asked for.
	pod      map[string]podAt
	children [][]int
	// end is the index after a group's last descendant.
	end []int
	// pending are the pods of each leaf.
	pending [][]some
	// resources are the resources that any kind requests; free has a row for each node.
	resources map[string]int
	free      []int64
	// Kinds that requests and filters don't tell apart are one: kindOf is by kind of
	// the input.
	kinds     []kind
	kindOf    []int
	divisions map[[2]string]*division
	relations []*relation
	// related are by group the relations that it is an item of.
	related [][]int
	memory
}

// some are pods of one kind.
type some struct {
	kind int
	pods int64
}

// kind is what equal pods ask for, and the nodes that filters leave them: nil for
// all.
type kind struct {
	requests []int64
	allowed  set
}

// podAt is where a pending pod belongs.
type podAt struct{ leaf, kind int }

// division is the domains of one level.
type division struct {
	// of is the domain of each node, -1 for none; paths are ascending.
	of    []int
	paths [][]string
	// The nodes of a domain are those from first[domain] to first[domain+1].
	nodes []int32
	first []int32
	// number is for counting domains, 0 between.
	number []int32
}

func (d *division) nodesOf(domain int) []int32 { return d.nodes[d.first[domain]:d.first[domain+1]] }

func (d *division) path(domain int) string { return pathText(d.paths[domain]) }

// Read looks the names of a question up. The error says what contradicts itself.
func Read(in *Input) (*Model, error) { return read(in, false) }

func read(in *Input, unfiltered bool) (*Model, error) {
	nodes, err := nodesOf(in)
	if err != nil {
		return nil, err
	}
	m, err := ReadNodes(in, nodes, unfiltered)
	if err != nil {
		return nil, err
	}
	return m, m.indexPods()
}

// ReadNodes is Read for a question with nodes kept elsewhere: in.Nodes and the filters of in.Kinds are not looked at,
// and the names of groups and pods must be unique. The nodes must not change while the Model is used. Proofs by an
// unfiltered model do not use filters, and are Unfiltered.
func ReadNodes(in *Input, nodes Nodes, unfiltered bool) (read *Model, err error) {
	defer endSpent(&err, errNotRead)
	m := &Model{
		unfiltered: unfiltered,
		in:         in, nodes: nodes, group: make(map[string]int, len(in.Groups)), children: make([][]int, len(in.Groups)),
		end: make([]int, len(in.Groups)), pending: make([][]some, len(in.Groups)), divisions: map[[2]string]*division{},
	}
	m.readKinds()
	m.memory = newMemory(len(m.kinds), nodes.Len())
	m.limit = MaxSteps
	if len(in.Groups) == 0 {
		return nil, fmt.Errorf("there is no group")
	}
	for i := range in.Groups {
		if err := m.readGroup(i); err != nil {
			return nil, err
		}
	}
	if err := m.readTree(); err != nil {
		return nil, err
	}
	return m, m.readRelations()
}

// readKinds merges equal kinds, and copies the free amounts of the resources that they request. Resources are in the
// order of their names, so that figures do not depend on the caller.
func (m *Model) readKinds() {
	m.resources = map[string]int{}
	for _, kind := range m.in.Kinds {
		for name, amount := range kind.Requests {
			if amount > 0 {
				m.resources[name] = 0
			}
		}
	}
	names := slices.Sorted(maps.Keys(m.resources))
	m.free = make([]int64, m.nodes.Len()*len(names))
	for i, name := range names {
		m.resources[name] = i
		for node, amount := range m.nodes.Free(name) {
			m.free[node*len(names)+i] = max(0, amount)
		}
	}
	known := map[string]int{}
	filters := numbering{}
	for i, of := range m.in.Kinds {
		requests := make([]int64, len(names))
		var key []byte
		for r, name := range names {
			requests[r] = max(0, of.Requests[name])
			key = binary.AppendVarint(key, requests[r])
		}
		var allowed set
		if !m.unfiltered {
			allowed = m.nodes.Allowed(i)
		}
		if allowed != nil {
			key = binary.AppendUvarint(key, uint64(filters.of(allowed.text())))
		}
		at, met := known[string(key)]
		if !met {
			at = len(m.kinds)
			known[string(key)] = at
			m.kinds = append(m.kinds, kind{requests, allowed})
		}
		m.kindOf = append(m.kindOf, at)
	}
}

// Input is the question.
func (m *Model) Input() *Input { return m.in }

// row is what is free on a node.
func (m *Model) row(node int) []int64 {
	width := len(m.resources)
	return m.free[node*width : (node+1)*width : (node+1)*width]
}

func (m *Model) readGroup(i int) error {
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
		m.addPending(i, some{m.kindOf[pods.Kind], int64(len(pods.Names))})
	}
	return nil
}

// addPending adds pods to a leaf, to those of their kind if there are any.
func (m *Model) addPending(leaf int, pods some) {
	for k := range m.pending[leaf] {
		if m.pending[leaf][k].kind == pods.kind {
			m.pending[leaf][k].pods += pods.pods
			return
		}
	}
	if pods.pods > 0 {
		m.pending[leaf] = append(m.pending[leaf], pods)
	}
}

func (m *Model) readTree() error {
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

// indexPods looks up the names of pods.
func (m *Model) indexPods() error {
	if m.pod != nil {
		return nil
	}
	pods := 0
	for i := range m.pending {
		for _, some := range m.pending[i] {
			pods += int(some.pods)
		}
	}
	m.pod = make(map[string]podAt, pods)
	for i := range m.in.Groups {
		for _, pods := range m.in.Groups[i].Pending {
			for _, name := range pods.Names {
				if _, twice := m.pod[name]; twice {
					return fmt.Errorf("pod %q is there twice", name)
				}
				m.pod[name] = podAt{i, m.kindOf[pods.Kind]}
			}
		}
	}
	return nil
}

func (m *Model) leaf(group int) bool { return len(m.children[group]) == 0 }

// minimum is how many pods a leaf needs, or satisfied children a parent.
func (m *Model) minimum(group int) int {
	if m.leaf(group) {
		return max(0, m.in.Groups[group].MinMember)
	}
	return max(0, m.in.Groups[group].MinSubGroups)
}

// level is the index of a level, or -1.
func (m *Model) level(topology, level string) int {
	return slices.Index(m.levels(topology), level)
}

func (m *Model) levels(topology string) []string {
	for _, t := range m.in.Topologies {
		if t.Name == topology {
			return t.Levels
		}
	}
	return nil
}

// divide sorts the nodes by their domain of a level that exists.
func (m *Model) divide(topology, level string) *division {
	key := [2]string{topology, level}
	if d := m.divisions[key]; d != nil {
		return d
	}
	d := &division{}
	d.of, d.paths = m.nodes.Divide(topology, m.level(topology, level))
	d.first, d.number = make([]int32, len(d.paths)+1), make([]int32, len(d.paths))
	for _, at := range d.of {
		if at >= 0 {
			d.first[at+1]++
		}
	}
	for at := range d.paths {
		d.first[at+1] += d.first[at]
	}
	d.nodes = make([]int32, d.first[len(d.paths)])
	for node, at := range d.of {
		if at >= 0 {
			d.nodes[d.first[at]+d.number[at]] = int32(node)
			d.number[at]++
		}
	}
	clear(d.number)
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
func (m *Model) known(names []string) []int {
	m.spend(len(names))
	var nodes []int
	for _, name := range names {
		if i, ok := m.nodes.Find(name); ok {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// running are the known nodes of running pods of a group and its descendants.
func (m *Model) running(group int) []int {
	var nodes []int
	m.spend(m.end[group] - group)
	for i := group; i < m.end[group]; i++ {
		nodes = append(nodes, m.known(m.in.Groups[i].Running)...)
	}
	return nodes
}
