package packing

import (
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// problem is a gang translated to indices: groups in preorder, kinds of pods,
// levels, and the domains that running members already fix. Shapes that neither
// filters nor amounts tell apart are one kind: here a shape is a kind. Those come
// first of which the fewest pods fit into the cluster.
type problem struct {
	cluster *counts.Cluster
	shapes  []*counts.ShapeCounts
	groups  []group
	// slots are the topologies that matter, those of constraints and anchors; at
	// least the one without name.
	slots []int
	// tree is the topology by which pods that may go anywhere are brought together,
	// and nodes are found without looking at each.
	tree  int
	notes []string
	// pending has the pods that wait, by group and shape; parents have the sums.
	layout
	pending []int32

	// shapeIndex has the kind of each shape by its key, bySignature those of a
	// signature beyond the first few.
	shapeIndex  map[string]int
	bySignature map[uint64][]int
	// wide is how many kinds have many nodes to choose from, as far as that is known, and
	// partly says that filters are not asked about all nodes any more;
	// partial says that for want of room some kinds were counted on a part of their
	// nodes only, so that what does not fit may fit elsewhere.
	wide            int
	partly, partial bool
	questions       *counts.Questions
	// compared is how many kinds bounds have compared with what domains have room for, beyond
	// those that were counted as steps.
	compared int

	// relations are those of the gang; related has by leaf the items that its pods are
	// of, nil if there is no relation. stands counts the pods of items by domain, and
	// excess the items, and pods in no domain, that relations don't allow.
	relations []relation
	related   [][]membership
	stands    map[itemIn]int32
	excess    int

	// minima are of each group; nil until asked for.
	minima []minimum

	// volumes are of one pod of each kind; nil until asked for.
	volumes []int64

	// onNode lists the shapes that a node may take; dense are those of many nodes,
	// which nodes that were not visited lack.
	onNode  [][]shapeOn
	dense   []int32
	visited counts.Bitset
}

// group is one group of a problem.
type group struct {
	source *Group
	parent int
	// end is the index after the group's last descendant.
	end   int
	depth int

	// slot is the topology of the constraint; required and preferred are levels
	// of it, or none.
	slot, required, preferred int
	// need is how many pending pods of a leaf must be placed, minChildren how
	// many children of a parent must be satisfied.
	need, minChildren int
	// running counts running members of the group and its descendants.
	running int
	// fixed are domains where all pods of the group must go, because running
	// members or followed pods stand there.
	fixed []place
	// ties say for each of fixed whose pods stand there.
	ties []tie
	// pinned says that a fixed domain implies the required level.
	pinned bool
	// blocked says why no pod of the group can be placed at all, if so.
	blocked string
	// joined are the units of the preferred level that running members use, and
	// those of other gangs that the group would stand beside.
	joined unitSet
	// confines says that the group or a descendant has a required level, a fixed
	// domain or is blocked.
	confines bool
	// class is shared by groups that differ in nothing but their names.
	class int
	// relations are those that the group is an item of; sought is the level in one
	// domain of which the greedy search tries to place it, beside the required one.
	relations []int32
	sought    levelOf
}

// constrained is the level that the group requires.
func (g *group) constrained() levelOf { return levelOf{g.slot, g.required} }

// place is a domain of a topology.
type place struct {
	slot int
	at   int32
}

// tie says why a domain is fixed.
type tie struct {
	// whose is a noun phrase for the pods that stand in the domain.
	whose string
	// followed says that they are another gang's.
	followed bool
}

func (g *group) leaf() bool { return len(g.source.Children) == 0 }

// children iterates over the direct children of a group.
func (p *problem) children(parent int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := parent + 1; i < p.groups[parent].end; i = p.groups[i].end {
			if !yield(i) {
				return
			}
		}
	}
}

// newProblem translates a gang. The error says what is invalid in it.
// O(groups · depth + pods by shape + running · depth).
func newProblem(c *counts.Cluster, gang *Gang) (*problem, error) {
	p := &problem{cluster: c, shapeIndex: map[string]int{}, slots: []int{0}}
	if err := p.addGroup(&gang.Root, counts.None, 0); err != nil {
		return nil, err
	}
	if err := p.countPending(); err != nil {
		return nil, err
	}
	if err := p.relate(gang); err != nil {
		return nil, err
	}
	p.chooseTree()
	p.anchor()
	p.confine()
	p.classify()
	return p, nil
}

// chooseTree takes a topology that the gang names, if it may go anywhere in a large
// cluster, or another one; of several the first by name.
func (p *problem) chooseTree() {
	if p.groups[0].required != counts.None || p.cluster.Rows() < counts.ManyNodes {
		return
	}
	candidates := p.slots[1:]
	if len(candidates) == 0 {
		for slot, t := range p.cluster.Topologies {
			if t != nil && slot > 0 {
				candidates = append(candidates, slot)
			}
		}
	}
	for _, slot := range candidates {
		if p.tree == 0 || p.cluster.Topologies[slot].Name < p.cluster.Topologies[p.tree].Name {
			p.tree = slot
		}
	}
	if !slices.Contains(p.slots, p.tree) {
		p.slots = append(p.slots, p.tree)
	}
}

func (p *problem) addGroup(source *Group, parent, depth int) error {
	i := len(p.groups)
	p.groups = append(p.groups, group{source: source, parent: parent, depth: depth, slot: counts.None,
		required: counts.None, preferred: counts.None, sought: levelOf{level: counts.None}})
	if err := p.resolveConstraint(&p.groups[i]); err != nil {
		return err
	}
	if err := p.resolveMinimum(&p.groups[i]); err != nil {
		return err
	}
	for k := range source.Children {
		if err := p.addGroup(&source.Children[k], i, depth+1); err != nil {
			return err
		}
	}
	p.groups[i].end = len(p.groups)
	return nil
}

func (p *problem) resolveConstraint(g *group) error {
	constraint := &g.source.Constraint
	if constraint.Topology == "" {
		if constraint.Required != "" || constraint.Preferred != "" {
			return fmt.Errorf("%s has a topology level but names no topology", named(g.source))
		}
		return nil
	}
	slot, err := p.resolveTopology(g.source, constraint.Topology)
	if err != nil {
		return err
	}
	g.slot = slot
	if g.required, err = p.resolveLevel(g.source, slot, constraint.Required); err != nil {
		return err
	}
	if g.preferred, err = p.resolveLevel(g.source, slot, constraint.Preferred); err != nil {
		return err
	}
	if g.preferred != counts.None && g.preferred < g.required {
		p.notes = append(p.notes,
			fmt.Sprintf("%s prefers level %q, which is broader than the required %q and so implied by it",
				named(g.source), constraint.Preferred, constraint.Required))
	}
	return nil
}

func (p *problem) resolveTopology(source *Group, name string) (int, error) {
	slot, ok := p.cluster.SlotOf(name)
	if !ok {
		return counts.None, fmt.Errorf("%s names topology %q, which does not exist", named(source), name)
	}
	if !slices.Contains(p.slots, slot) {
		p.slots = append(p.slots, slot)
	}
	return slot, nil
}

func (p *problem) resolveLevel(source *Group, slot int, key string) (int, error) {
	if key == "" {
		return counts.None, nil
	}
	t := p.cluster.Topologies[slot]
	if level := t.Level(key); level != counts.None {
		return level, nil
	}
	return counts.None, fmt.Errorf("%s names level %q, which topology %q does not have; its levels are %q", named(source),
		key, t.Name, t.Levels)
}

func (p *problem) resolveMinimum(g *group) error {
	source := g.source
	if g.leaf() {
		if source.MinSubGroups != nil && *source.MinSubGroups > 0 {
			return fmt.Errorf("%s asks for %d subgroups but has none", named(source), *source.MinSubGroups)
		}
		g.running = len(source.Running)
		g.need = max(0, source.MinMember-g.running)
		return nil
	}
	if len(source.Pending) > 0 || len(source.Running) > 0 {
		return fmt.Errorf("%s has subgroups and pods of its own; pods belong to leaves", named(source))
	}
	g.minChildren = len(source.Children)
	if source.MinSubGroups != nil {
		g.minChildren = max(0, *source.MinSubGroups)
	}
	if g.minChildren > len(source.Children) {
		return fmt.Errorf("%s asks for %d subgroups but has %d", named(source), g.minChildren, len(source.Children))
	}
	return nil
}

// confine marks the groups that confine their pods.
func (p *problem) confine() {
	for i := len(p.groups) - 1; i >= 0; i-- {
		g := &p.groups[i]
		g.confines = g.confines || g.required != counts.None || len(g.fixed) > 0 || g.blocked != ""
		if g.confines && i > 0 {
			p.groups[g.parent].confines = true
		}
	}
}

// named speaks of a group in a message.
func named(g *Group) string {
	if g.Name == "" {
		return "the gang"
	}
	return fmt.Sprintf("group %q", g.Name)
}
