package certificate_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
)

// drawInput makes a small question.
func drawInput(t *rapid.T) *certificate.Input {
	in := &certificate.Input{Topologies: []certificate.Topology{{Name: "a", Levels: []string{"zone", "rack"}}}}
	if rapid.IntRange(0, 3).Draw(t, "second topology") == 0 {
		in.Topologies = append(in.Topologies, certificate.Topology{Name: "b", Levels: []string{"rail"}})
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		in.Nodes = append(in.Nodes, drawNode(t, i))
	}
	for range rapid.IntRange(1, 2).Draw(t, "kinds") {
		kind := certificate.Kind{Requests: map[string]int64{
			"gpu": rapid.Int64Range(0, 3).Draw(t, "gpu"), "cpu": rapid.Int64Range(1, 2).Draw(t, "cpu"),
		}}
		if rapid.IntRange(0, 2).Draw(t, "bars") == 0 {
			kind.Barred = rapid.SliceOfN(rapid.Bool(), len(in.Nodes), len(in.Nodes)).Draw(t, "barred")
		}
		in.Kinds = append(in.Kinds, kind)
	}
	pods := 0
	drawGroup(t, in, -1, 0, &pods)
	drawRelations(t, in)
	return in
}

// drawRelations makes relations of one topology.
func drawRelations(t *rapid.T, in *certificate.Input) {
	if rapid.IntRange(0, 1).Draw(t, "relations") == 0 {
		return
	}
	topology := rapid.SampledFrom(in.Topologies).Draw(t, "topology")
	for i := range rapid.IntRange(1, 2).Draw(t, "number of relations") {
		r := certificate.Relation{
			Name: fmt.Sprintf("relation-%d", i), Topology: topology.Name, Max: rapid.IntRange(1, 2).Draw(t, "max"),
			Level: rapid.SampledFrom(topology.Levels).Draw(t, "level"), PerPod: rapid.Bool().Draw(t, "per pod"),
		}
		switch rapid.IntRange(0, 4).Draw(t, "bound") {
		case 0:
			r.Near, r.PerPod = drawNodeNames(t, in, 2), false
		default:
		}
		if r.Near == nil && rapid.IntRange(0, 2).Draw(t, "others") == 0 {
			r.Others = [][]string{drawNodeNames(t, in, 2)}
		}
		items := make([]bool, len(in.Groups))
		for group := range in.Groups {
			parent := in.Groups[group].Parent
			if items[group] = parent >= 0 && items[parent]; !items[group] && rapid.IntRange(0, 2).Draw(t, "item") > 0 {
				items[group] = true
				in.Groups[group].Relations = append(in.Groups[group].Relations, r.Name)
			}
		}
		in.Relations = append(in.Relations, r)
	}
}

func drawNode(t *rapid.T, i int) certificate.Node {
	n := certificate.Node{Name: fmt.Sprintf("node-%d", i), Domains: map[string][]string{}, Free: map[string]int64{
		"gpu": rapid.Int64Range(0, 4).Draw(t, "gpu"), "cpu": rapid.Int64Range(1, 6).Draw(t, "cpu"),
	}}
	for _, topology := range []string{"a", "b"} {
		var path []string
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			path = append(path, fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "label")))
		}
		n.Domains[topology] = path
	}
	n.Domains["b"] = n.Domains["b"][:min(1, len(n.Domains["b"]))]
	return n
}

func drawGroup(t *rapid.T, in *certificate.Input, parent, depth int, pods *int) {
	at := len(in.Groups)
	g := certificate.Group{Name: fmt.Sprintf("group-%d", at), Parent: parent}
	if rapid.Bool().Draw(t, "requires") {
		topology := rapid.SampledFrom(in.Topologies).Draw(t, "topology")
		g.Topology, g.Required = topology.Name, rapid.SampledFrom(topology.Levels).Draw(t, "level")
	}
	if rapid.IntRange(0, 9).Draw(t, "follows") == 0 {
		g.Follow = []certificate.Anchor{{Topology: "a", Level: rapid.SampledFrom([]string{"zone", "rack"}).Draw(t, "level"),
			Nodes: drawNodeNames(t, in, 2)}}
	}
	if depth < 2 && at < 5 && rapid.IntRange(0, 2).Draw(t, "parent") > 0 {
		in.Groups = append(in.Groups, g)
		children := rapid.IntRange(1, 4).Draw(t, "children")
		for range children {
			drawGroup(t, in, at, depth+1, pods)
		}
		in.Groups[at].MinSubGroups = max(0, children-rapid.IntRange(0, 2).Draw(t, "spare"))
		return
	}
	total := 0
	for kind := range in.Kinds {
		n := min(rapid.IntRange(0, 3).Draw(t, "pods"), 7-*pods)
		some := certificate.Pods{Kind: kind}
		for range n {
			some.Names = append(some.Names, fmt.Sprintf("pod-%d", *pods))
			*pods++
		}
		total += n
		g.Pending = append(g.Pending, some)
	}
	if rapid.IntRange(0, 3).Draw(t, "runs") == 0 {
		g.Running = drawNodeNames(t, in, 2)
	}
	g.MinMember = max(0, total+len(g.Running)-rapid.IntRange(0, 2).Draw(t, "spare"))
	in.Groups = append(in.Groups, g)
}

func drawNodeNames(t *rapid.T, in *certificate.Input, most int) []string {
	var names []string
	for range rapid.IntRange(1, most).Draw(t, "names") {
		names = append(names, fmt.Sprintf("node-%d", rapid.IntRange(0, len(in.Nodes)).Draw(t, "node")))
	}
	return names
}

// oracle tries every way to give each pod a node or none.
type oracle struct {
	in   *certificate.Input
	pods []oraclePod
	// on is the node of each pod, -1 for none.
	on   []int
	free []map[string]int64
}

type oraclePod struct {
	name       string
	leaf, kind int
}

func newOracle(in *certificate.Input) *oracle {
	o := &oracle{in: in}
	for leaf := range in.Groups {
		for _, pods := range in.Groups[leaf].Pending {
			for _, name := range pods.Names {
				o.pods = append(o.pods, oraclePod{name, leaf, pods.Kind})
				o.on = append(o.on, -1)
			}
		}
	}
	for _, n := range in.Nodes {
		free := map[string]int64{}
		for r, amount := range n.Free {
			free[r] = amount
		}
		o.free = append(o.free, free)
	}
	return o
}

// placement is one that is right, or nil.
func (o *oracle) placement() map[string]string { return o.from(0) }

func (o *oracle) from(pod int) map[string]string {
	if pod == len(o.pods) {
		if !o.right() {
			return nil
		}
		nodes := map[string]string{}
		for i, node := range o.on {
			if node >= 0 {
				nodes[o.pods[i].name] = o.in.Nodes[node].Name
			}
		}
		return nodes
	}
	first := 0
	if pod > 0 && o.pods[pod].leaf == o.pods[pod-1].leaf && o.pods[pod].kind == o.pods[pod-1].kind {
		first = max(0, o.on[pod-1])
	}
	for node := len(o.in.Nodes) - 1; node >= first; node-- {
		if o.put(pod, node) {
			if found := o.from(pod + 1); found != nil {
				return found
			}
			o.take(pod, node)
		}
	}
	return o.from(pod + 1)
}

func (o *oracle) put(pod, node int) bool {
	kind := o.in.Kinds[o.pods[pod].kind]
	if len(kind.Barred) > 0 && kind.Barred[node] {
		return false
	}
	for r, amount := range kind.Requests {
		if amount > o.free[node][r] {
			return false
		}
	}
	for r, amount := range kind.Requests {
		o.free[node][r] -= amount
	}
	o.on[pod] = node
	return true
}

func (o *oracle) take(pod, node int) {
	for r, amount := range o.in.Kinds[o.pods[pod].kind].Requests {
		o.free[node][r] += amount
	}
	o.on[pod] = -1
}

// right judges the groups by the words of the contract.
func (o *oracle) right() bool {
	for group := range o.in.Groups {
		if !o.rightGroup(group) {
			return false
		}
	}
	for _, r := range o.in.Relations {
		if !o.rightRelation(r) {
			return false
		}
	}
	return o.satisfied(0)
}

// rightRelation counts items by domain: where a new one comes there are no more than may be.
func (o *oracle) rightRelation(r certificate.Relation) bool {
	domain := func(node int) string {
		path := o.in.Nodes[node].Domains[r.Topology]
		for _, t := range o.in.Topologies {
			if depth := slices.Index(t.Levels, r.Level); t.Name == r.Topology && depth < len(path) {
				return fmt.Sprintf("%q", path[:depth+1])
			}
		}
		return ""
	}
	items, entered := map[string]map[string]bool{}, map[string]bool{}
	count := func(item string, node int) (more bool) {
		at := domain(node)
		if items[at] == nil {
			items[at] = map[string]bool{}
		}
		more = !items[at][item]
		items[at][item] = true
		return more
	}
	for i, nodes := range r.Others {
		for _, node := range o.nodes(nodes) {
			count(fmt.Sprint("other ", i), node)
		}
	}
	for group := range o.in.Groups {
		if !slices.Contains(o.in.Groups[group].Relations, r.Name) {
			continue
		}
		for _, node := range o.nodes(r.Joined) {
			count(fmt.Sprint("group ", group), node)
		}
		for leaf := range o.in.Groups {
			for k, node := range o.nodes(o.in.Groups[leaf].Running) {
				if item := fmt.Sprint("group ", group); o.inside(leaf, group) {
					if r.PerPod {
						item = fmt.Sprint("running ", leaf, k)
					}
					count(item, node)
				}
			}
		}
		for pod, node := range o.on {
			if node < 0 || !o.inside(o.pods[pod].leaf, group) {
				continue
			}
			if domain(node) == "" {
				return false
			}
			item := fmt.Sprint("group ", group)
			if r.PerPod {
				item = o.pods[pod].name
			}
			if count(item, node) {
				entered[domain(node)] = true
			}
		}
	}
	near := map[string]bool{}
	for _, node := range o.nodes(r.Near) {
		near[domain(node)] = true
	}
	for at := range items {
		if entered[at] && (r.Near != nil && !near[at] || r.Near == nil && len(items[at]) > r.Max) {
			return false
		}
	}
	return true
}

func (o *oracle) rightGroup(group int) bool {
	g := &o.in.Groups[group]
	placed, stands := []int{}, []int{}
	for i, node := range o.on {
		if node >= 0 && o.inside(o.pods[i].leaf, group) {
			placed = append(placed, node)
		}
	}
	if len(placed) == 0 {
		return true
	}
	for leaf := range o.in.Groups {
		if o.inside(leaf, group) {
			stands = append(stands, o.nodes(o.in.Groups[leaf].Running)...)
		}
	}
	if !o.satisfied(group) || g.Required != "" && !o.together(g.Topology, g.Required, append(stands, placed...)) {
		return false
	}
	for _, anchor := range g.Follow {
		if others := o.nodes(anchor.Nodes); len(others) > 0 && !o.together(anchor.Topology, anchor.Level, append(others,
			placed...)) {
			return false
		}
	}
	return true
}

func (o *oracle) inside(group, outer int) bool {
	for ; group >= 0; group = o.in.Groups[group].Parent {
		if group == outer {
			return true
		}
	}
	return false
}

func (o *oracle) nodes(names []string) []int {
	var nodes []int
	for _, name := range names {
		if i := slices.IndexFunc(o.in.Nodes, func(n certificate.Node) bool { return n.Name == name }); i >= 0 {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

func (o *oracle) together(topology, level string, nodes []int) bool {
	depth := -1
	for _, t := range o.in.Topologies {
		if t.Name == topology {
			depth = slices.Index(t.Levels, level)
		}
	}
	if depth < 0 {
		return false
	}
	first := o.in.Nodes[nodes[0]].Domains[topology]
	for _, node := range nodes {
		path := o.in.Nodes[node].Domains[topology]
		if len(path) <= depth || !slices.Equal(path[:depth+1], first[:depth+1]) {
			return false
		}
	}
	return true
}

func (o *oracle) satisfied(group int) bool {
	g := &o.in.Groups[group]
	has, leaf := 0, true
	for child := range o.in.Groups {
		if o.in.Groups[child].Parent == group {
			leaf = false
			if o.satisfied(child) {
				has++
			}
		}
	}
	if !leaf {
		return has >= g.MinSubGroups
	}
	for i, node := range o.on {
		if node >= 0 && o.pods[i].leaf == group {
			has++
		}
	}
	return has+len(g.Running) >= g.MinMember
}
