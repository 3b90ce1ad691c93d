package problem

import (
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Problem is a gang translated to indices: groups in preorder, kinds of pods, levels, and the domains that running
// members fix. A kind is a set of shapes with equal filters and amounts; here a shape is a kind. Kinds are sorted by
// room in the cluster, least first.
type Problem struct {
	Cluster *counts.Cluster
	Shapes  []*counts.ShapeCounts
	Groups  []Subgroup
	// slots are the topologies that matter, those of constraints and anchors; at
	// least the one without name.
	slots []int
	// Tree is the topology by which pods that may go anywhere are brought together,
	// and nodes are found without looking at each.
	Tree  int
	Notes []string
	// Pending has the pods that wait, by group and shape; parents have the sums.
	layout
	Pending []int32

	// ShapeIndex has the kind of each shape by its key, bySignature those of a
	// signature beyond the first few.
	ShapeIndex  map[string]int
	bySignature map[uint64][]int
	// wide is how many kinds have many nodes to choose from, as far as that is known, and
	// partly says that filters are not asked about all nodes any more;
	// partial says that for want of room some kinds were counted on a part of their
	// nodes only, so that what does not fit may fit elsewhere.
	wide            int
	partly, Partial bool
	questions       *counts.Questions
	// Compared is the number of kinds that bounds have compared with the room of domains, beyond the ones counted as
	// steps.
	Compared int

	// Relations are those of the gang; Related has by leaf the items that its pods are
	// of, nil if there is no relation. stands counts the pods of items by domain, and
	// excess the items, and pods in no domain, that relations don't allow.
	Relations []RelationCount
	Related   [][]Membership
	Stands    map[ItemIn]int32
	Excess    int

	// Minima are of each group; nil until asked for.
	Minima []minimum

	// volumes are of one pod of each kind; nil until asked for.
	volumes []int64

	// onNode lists the shapes that a node may take; dense are those of many nodes,
	// which nodes that were not visited lack.
	onNode  [][]shapeOn
	dense   []int32
	visited counts.Bitset
}

// Subgroup is one group of a problem.
type Subgroup struct {
	Source *Group
	Parent int
	// End is the index after the group's last descendant.
	End   int
	Depth int

	// Slot is the topology of the constraint; required and Preferred are levels
	// of it, or none.
	Slot, Required, Preferred int
	// Need is how many pending pods of a leaf must be placed, minChildren how
	// many children of a parent must be satisfied.
	Need, MinChildren int
	// Running counts running members of the group and its descendants.
	Running int
	// Fixed are domains where all pods of the group must go, because running
	// members or followed pods stand there.
	Fixed []Place
	// Ties has, for each of fixed, the pods that stand there.
	Ties []Tie
	// Pinned says that a fixed domain implies the required level.
	Pinned bool
	// Blocked says why no pod of the group can be placed at all, if so.
	Blocked string
	// Joined are the units of the preferred level that running members use, and
	// those of other gangs that the group would stand beside.
	Joined UnitSet
	// Confines says that the group or a descendant has a required level, a fixed
	// domain or is blocked.
	Confines bool
	// Class is shared by groups that differ in nothing but their names.
	Class int
	// Relations are the relations that the group is an item of. The greedy search tries to
	// place the group in one domain of the level Sought, beside the required level.
	Relations []int32
	Sought    LevelOf
}

// Constrained is the level that the group requires.
func (g *Subgroup) Constrained() LevelOf { return LevelOf{g.Slot, g.Required} }

// Place is a domain of a topology.
type Place struct {
	Slot int
	At   int32
}

// Tie says why a domain is fixed.
type Tie struct {
	// PodsText is a noun phrase for the pods that stand in the domain.
	PodsText string
	// Followed says that they are another gang's.
	Followed bool
}

// Leaf reports whether a group has pods of its own.
func (g *Subgroup) Leaf() bool { return len(g.Source.Children) == 0 }

// Children iterates over the direct children of a group.
func (p *Problem) Children(parent int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := parent + 1; i < p.Groups[parent].End; i = p.Groups[i].End {
			if !yield(i) {
				return
			}
		}
	}
}

// New translates a gang. The error says what is invalid in it.
// O(groups · depth + pods by shape + running · depth).
func New(c *counts.Cluster, gang *Gang) (*Problem, error) {
	p := &Problem{Cluster: c, ShapeIndex: map[string]int{}, slots: []int{0}}
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
func (p *Problem) chooseTree() {
	if p.Groups[0].Required != counts.None || p.Cluster.Rows() < counts.ManyNodes {
		return
	}
	candidates := p.slots[1:]
	if len(candidates) == 0 {
		for slot, t := range p.Cluster.Topologies {
			if t != nil && slot > 0 {
				candidates = append(candidates, slot)
			}
		}
	}
	for _, slot := range candidates {
		if p.Tree == 0 || p.Cluster.Topologies[slot].Name < p.Cluster.Topologies[p.Tree].Name {
			p.Tree = slot
		}
	}
	if !slices.Contains(p.slots, p.Tree) {
		p.slots = append(p.slots, p.Tree)
	}
}

func (p *Problem) addGroup(source *Group, parent, depth int) error {
	i := len(p.Groups)
	p.Groups = append(p.Groups, Subgroup{Source: source, Parent: parent, Depth: depth, Slot: counts.None,
		Required: counts.None, Preferred: counts.None, Sought: LevelOf{Level: counts.None}})
	if err := p.resolveConstraint(&p.Groups[i]); err != nil {
		return err
	}
	if err := p.resolveMinimum(&p.Groups[i]); err != nil {
		return err
	}
	for k := range source.Children {
		if err := p.addGroup(&source.Children[k], i, depth+1); err != nil {
			return err
		}
	}
	p.Groups[i].End = len(p.Groups)
	return nil
}

func (p *Problem) resolveConstraint(g *Subgroup) error {
	constraint := &g.Source.Constraint
	if constraint.Topology == "" {
		if constraint.Required != "" || constraint.Preferred != "" {
			return fmt.Errorf("%s has a topology level but names no topology", Named(g.Source))
		}
		return nil
	}
	slot, err := p.resolveTopology(g.Source, constraint.Topology)
	if err != nil {
		return err
	}
	g.Slot = slot
	if g.Required, err = p.resolveLevel(g.Source, slot, constraint.Required); err != nil {
		return err
	}
	if g.Preferred, err = p.resolveLevel(g.Source, slot, constraint.Preferred); err != nil {
		return err
	}
	if g.Preferred != counts.None && g.Preferred < g.Required {
		p.Notes = append(p.Notes,
			fmt.Sprintf("%s prefers level %q, which is broader than the required %q and so implied by it",
				Named(g.Source), constraint.Preferred, constraint.Required))
	}
	return nil
}

func (p *Problem) resolveTopology(source *Group, name string) (int, error) {
	slot, ok := p.Cluster.SlotOf(name)
	if !ok {
		return counts.None, fmt.Errorf("%s names topology %q, which does not exist", Named(source), name)
	}
	if !slices.Contains(p.slots, slot) {
		p.slots = append(p.slots, slot)
	}
	return slot, nil
}

func (p *Problem) resolveLevel(source *Group, slot int, key string) (int, error) {
	if key == "" {
		return counts.None, nil
	}
	t := p.Cluster.Topologies[slot]
	if level := t.Level(key); level != counts.None {
		return level, nil
	}
	return counts.None, fmt.Errorf("%s names level %q, which topology %q does not have; its levels are %q", Named(source),
		key, t.Name, t.Levels)
}

func (p *Problem) resolveMinimum(g *Subgroup) error {
	source := g.Source
	if g.Leaf() {
		if source.MinSubGroups != nil && *source.MinSubGroups > 0 {
			return fmt.Errorf("%s asks for %d subgroups but has none", Named(source), *source.MinSubGroups)
		}
		g.Running = len(source.Running)
		g.Need = max(0, source.MinMember-g.Running)
		return nil
	}
	if len(source.Pending) > 0 || len(source.Running) > 0 {
		return fmt.Errorf("%s has subgroups and pods of its own; pods belong to leaves", Named(source))
	}
	g.MinChildren = len(source.Children)
	if source.MinSubGroups != nil {
		g.MinChildren = max(0, *source.MinSubGroups)
	}
	if g.MinChildren > len(source.Children) {
		return fmt.Errorf("%s asks for %d subgroups but has %d", Named(source), g.MinChildren, len(source.Children))
	}
	return nil
}

// confine marks the groups that confine their pods.
func (p *Problem) confine() {
	for i := len(p.Groups) - 1; i >= 0; i-- {
		g := &p.Groups[i]
		g.Confines = g.Confines || g.Required != counts.None || len(g.Fixed) > 0 || g.Blocked != ""
		if g.Confines && i > 0 {
			p.Groups[g.Parent].Confines = true
		}
	}
}

// Named speaks of a group in a message.
func Named(g *Group) string {
	if g.Name == "" {
		return "the gang"
	}
	return fmt.Sprintf("group %q", g.Name)
}
