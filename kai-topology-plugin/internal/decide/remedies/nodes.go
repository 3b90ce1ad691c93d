package remedies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/brief"
)

// maxTaints is how many taints are tried, the most frequent first.
const maxTaints = 6

// maxAdded bounds the nodes to add: more is no answer for a single gang.
const maxAdded = 256

// maxNamed is how many nodes a sentence names.
const maxNamed = 6

// tolerate tries every taint that keeps pods off, one at a time, but for the ones that Kubernetes itself puts on nodes:
// these are not to be tolerated.
func (p *unplaced) tolerate(ctx context.Context) ([]Remedy, error) {
	onNodes := map[corev1.Taint]int{}
	for _, node := range p.cluster.Nodes {
		for _, taint := range node.Spec.Taints {
			own := strings.HasPrefix(taint.Key, "node.kubernetes.io/")
			if !own && taint.Effect != corev1.TaintEffectPreferNoSchedule {
				onNodes[corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect}]++
			}
		}
	}
	taints := slices.SortedFunc(maps.Keys(onNodes), func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(onNodes[b], onNodes[a]), cmp.Compare(a.ToString(), b.ToString()))
	})
	var found []Remedy
	for _, taint := range taints[:min(len(taints), maxTaints)] {
		fits, err := p.withToleration(ctx, corev1.Toleration{
			Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect,
		})
		if err != nil {
			return nil, err
		}
		if fits {
			change := fmt.Sprintf("tolerate taint %s (on %s)",
				taint.ToString(), brief.Count(onNodes[taint], "node"))
			found = append(found, Remedy{Kind: Tolerate, Change: change, Fits: true})
		}
	}
	return found, nil
}

// uncordon tries with all cordoned nodes, and then with the ones alone that pods got.
func (p *unplaced) uncordon(ctx context.Context) ([]Remedy, error) {
	var all []*corev1.Node
	for _, node := range p.cluster.Nodes {
		if node.Spec.Unschedulable {
			all = append(all, uncordoned(node))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	answer, err := p.withNodes(ctx, all)
	if err != nil || answer == nil {
		return nil, err
	}
	used := sets.New(slices.Collect(maps.Values(answer.Nodes))...)
	needed := slices.DeleteFunc(slices.Clone(all), func(node *corev1.Node) bool { return !used.Has(node.Name) })
	switch answer, err := p.withNodes(ctx, needed); {
	case err != nil:
		return nil, err
	case answer == nil:
		needed = all // The pods are spread over domains that only other cordoned nodes make count.
	}
	names := make([]string, len(needed))
	for i, node := range needed {
		names[i] = node.Name
	}
	return []Remedy{{Kind: Uncordon, Change: "uncordon " + listed(names), Fits: true}}, nil
}

func uncordoned(node *corev1.Node) *corev1.Node {
	node = node.DeepCopy()
	node.Spec.Unschedulable = false
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return taint.Key == corev1.TaintNodeUnschedulable })
	return node
}

// listed sorts names and joins them.
func listed(names []string) string {
	slices.Sort(names)
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed-1], ", "), len(names)-maxNamed+1)
}

// Nodes are nodes with which a gang would fit: as few as possible, in the nearest domain.
type Nodes struct {
	Count int
	// Like is a node of that domain; the others have its size, labels and taints. It must not be changed.
	Like *corev1.Node
	// Level is that of the domain, and Domain has the labels of its nodes; empty if they may be anywhere.
	Level  string
	Domain map[string]string
	// Change says so to people, as a Remedy does.
	Change string
}

// FindNodes returns the nodes that a gang with the answer Infeasible or Unknown needs, as Find would; nil if it would
// not fit with any number of them.
func FindNodes(
	ctx context.Context, cluster *inventory.Inventory, table *turns.Table, turn turns.Turn, answer *solve.Answer,
) (*Nodes, error) {
	p := newUnplaced(cluster, table, turn, answer)
	if p == nil {
		return nil, nil
	}
	return p.needed(ctx)
}

func (p *unplaced) addNodes(ctx context.Context) ([]Remedy, error) {
	needed, err := p.needed(ctx)
	if err != nil || needed == nil {
		return nil, err
	}
	return []Remedy{{Kind: AddNodes, Change: needed.Change, Fits: true}}, nil
}

// needed looks for the smallest number of nodes, of the kind that the nearest domain has, with which the gang fits
// there.
func (p *unplaced) needed(ctx context.Context) (*Nodes, error) {
	model := p.model()
	most := min(len(p.turn.Gang.Pending), maxAdded) // More than a node for each pod is of no use.
	if model == nil || most < 1 {
		return nil, nil
	}
	with := func(more int) (bool, error) {
		added := clones(model, more)
		answer, err := p.withNodes(ctx, added, p.zonesOf(model, added)...)
		return answer != nil, err
	}
	fits, err := with(most)
	if err != nil || !fits {
		return nil, err
	}
	needed := &Nodes{Like: model}
	if needed.Count, err = smallest(most, with); err != nil {
		return nil, err
	}
	if len(p.why.Domain) > 0 {
		needed.Level, needed.Domain = p.why.Level, map[string]string{}
		for i, key := range p.cluster.LevelKeys(p.why.Topology)[:len(p.why.Domain)] {
			needed.Domain[key] = p.why.Domain[i]
		}
	}
	needed.Change = fmt.Sprintf("add %s like %s to %s", brief.Count(needed.Count, "node"), model.Name, p.nearest())
	return needed, nil
}

// model is the node of the nearest domain that offers most of what is short, of the nodes that take one of the pods.
func (p *unplaced) model() *corev1.Node {
	var best *corev1.Node
	var offered float64
	scarce, kinds := p.scarce(), slices.CompactFunc(slices.Clone(p.turn.Gang.Pending), kubeframework.AcceptedAlike)
	takes := func(node *corev1.Node) bool {
		return slices.ContainsFunc(kinds, func(pod *corev1.Pod) bool { return kubeframework.Accepts(node, pod) })
	}
	for _, node := range p.cluster.Nodes {
		quantity := node.Status.Allocatable[scarce]
		offers := quantity.AsApproximateFloat64()
		better := best == nil || offers > offered || offers == offered && node.Name < best.Name
		if better && nodes.Schedulable(node) && p.inNearest(node) && takes(node) {
			best, offered = node, offers
		}
	}
	return best
}

// scarce is the resource that is short, or GPUs if nothing is short but room is split up.
func (p *unplaced) scarce() corev1.ResourceName {
	for _, short := range p.why.Short {
		if short.Resource != string(corev1.ResourcePods) {
			return corev1.ResourceName(short.Resource)
		}
	}
	return nodes.GPU
}

// nearest names the domain that the explanation is about.
func (p *unplaced) nearest() string {
	if len(p.why.Domain) == 0 {
		return "the cluster"
	}
	return nodes.LevelName(p.why.Level) + " " + p.why.Domain.String()
}

// inNearest reports whether a node stands in that domain.
func (p *unplaced) inNearest(node *corev1.Node) bool {
	path := nodes.Path(node.Labels, p.cluster.LevelKeys(p.why.Topology))
	return len(path) >= len(p.why.Domain) && slices.Equal(path[:len(p.why.Domain)], p.why.Domain)
}

// zonesOf are the zones of nodes that are added like a model.
func (p *unplaced) zonesOf(model *corev1.Node, added []*corev1.Node) (reported []*zones.Node) {
	if of := p.cluster.Zones.Node(model.Name); of != nil {
		for _, node := range added {
			reported = append(reported, of.Empty(node.Name))
		}
	}
	return reported
}

func clones(model *corev1.Node, number int) []*corev1.Node {
	added := make([]*corev1.Node, number)
	for i := range added {
		node := model.DeepCopy()
		node.Name = fmt.Sprintf("packtree.dev-added-%d", i)
		node.UID = ""
		for key, value := range node.Labels {
			if value == model.Name {
				node.Labels[key] = node.Name // The host's own name, under whatever label.
			}
		}
		added[i] = node
	}
	return added
}
