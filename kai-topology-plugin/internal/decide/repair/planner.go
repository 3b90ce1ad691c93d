package repair

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
)

// planner makes plans for gangs one after the other, on what is left of a cluster.
type planner struct {
	// rules are nil if everything may be moved.
	rules   *Rules
	cluster *inventory.Inventory
	table   *turns.Table
	nodes   map[string]*corev1.Node
	// gone are pods that are lost and that the cluster still shows on their nodes.
	gone []*corev1.Pod
	// reserved are the pods that stand for what is planned, where they go.
	reserved clusterview.Reserved
	// left are pods that move, of gangs that are planned, and leaving all that are evicted for it.
	left, leaving []*corev1.Pod
	plans         map[gang.Key]Plan
}

// option is a way to mend a gang: where its pods get seats, and what moves for it, if anything.
type option struct {
	moved []*group
	// moving are the pods of these groups that could have stayed where they are.
	moving []*corev1.Pod
	seats  []gangstate.Placement
	plan   Plan
}

// step plans a gang, or leaves it to the next step.
type step func(ctx context.Context, hit *breach) error

func newPlanner(table *turns.Table, rules *Rules) *planner {
	p := &planner{
		rules: rules, cluster: table.Inventory(), nodes: map[string]*corev1.Node{},
		reserved: clusterview.Reserved{}, plans: map[gang.Key]Plan{},
	}
	for _, node := range p.cluster.Nodes {
		p.nodes[node.Name] = node
	}
	return p
}

// run takes each step in turn for each gang that has no plan yet, on a table under a change.
func (p *planner) run(
	ctx context.Context, table *turns.Table, change turns.Change, hurt []*breach, steps ...step,
) error {
	return table.Under(change, func(under *turns.Table) error {
		p.table = under
		for _, take := range steps {
			for _, hit := range hurt {
				if _, planned := p.plans[hit.Gang]; planned {
					continue
				}
				if err := take(ctx, hit); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// option decides a gang in which groups move, as it is after these pods of them have left their nodes; nil if that does
// not help. Its plan says what moves, or what forbids it.
func (p *planner) option(
	ctx context.Context, hit *breach, turn turns.Turn, moved []*group, moving []*corev1.Pod,
) (found *option, err error) {
	change := turns.Change{Gone: slices.Concat(p.left, moving), Reserved: p.reserved}
	err = p.table.Under(change, func(table *turns.Table) error {
		answer, err := table.Decide(ctx, turn, 0)
		if err != nil || !turns.Placed(answer) {
			return err
		}
		found = &option{moved: moved, moving: moving}
		for _, pod := range turn.Gang.Pending {
			if node, ok := answer.Nodes[pod.Name]; ok {
				found.seats = append(found.seats, gangstate.Placement{Pod: pod, Node: node})
			}
		}
		return nil
	})
	if found == nil || len(moved) == 0 {
		return found, err
	}
	if !p.fits(found) {
		return nil, nil
	}
	p.propose(hit, found)
	return found, nil
}

// fits reports whether there are seats for as many pods of each leaf as would leave theirs, on nodes that are open to
// the gang.
func (p *planner) fits(found *option) bool {
	spare := map[string]int{}
	for _, seat := range found.seats {
		node := p.nodes[seat.Node]
		if node == nil || kubeframework.Evicts(node, seat.Pod) {
			return false
		}
		spare[gang.LeafOf(seat.Pod)]++
	}
	for _, pod := range found.moving {
		if spare[gang.LeafOf(pod)]--; spare[gang.LeafOf(pod)] < 0 {
			return false
		}
	}
	return true
}

// relocations says from where to where groups go.
func (p *planner) relocations(hit *breach, moved []*group, seats []gangstate.Placement) (all []Relocation) {
	for _, group := range moved {
		one := Relocation{SubGroup: group.Name, Pods: len(group.pods), Level: group.Constraint.RequiredTopologyLevel}
		if one.Level != "" {
			from, to := sets.New[string](), sets.New[string]()
			for _, pod := range group.pods {
				from.Insert(pod.Spec.NodeName)
			}
			for _, seat := range seats {
				if hit.in(group.Group, seat.Pod) {
					to.Insert(seat.Node)
				}
			}
			one.From, one.To = p.domainOf(group, from), p.domainOf(group, to)
		}
		all = append(all, one)
	}
	return all
}

// domainOf returns the domain in which nodes are, of the level that a group requires.
func (p *planner) domainOf(of *group, names sets.Set[string]) string {
	constraint := of.OnNodes()
	keys := p.cluster.LevelKeys(constraint.Topology)
	depth := slices.Index(keys, constraint.RequiredTopologyLevel)
	for _, name := range sets.List(names) {
		if path, ok := nodes.Domain(p.nodes[name].Labels, keys[:depth+1]); ok {
			return path.String()
		}
	}
	return ""
}
