package remedies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/preemption"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

// maxAdded is how many nodes are added at most: nobody buys more for a gang that waits.
const maxAdded = 256

// occupant is a gang, or a pod without one, that has room which another gang could use.
type occupant struct {
	name     string
	priority int32
	spared   bool
	// pods is how many of its pods stand, leaving how many of them leave, and amount what these free of the scarce
	// resource in the nearest domain.
	pods, leaving int
	amount        float64
}

// freeRoom makes room in the nearest domain as the scheduler does by preemption, but whatever the priority of those who
// leave: they are of as low a priority as will do, and non-preemptible only if nobody else will do.
func (p *unplaced) freeRoom(ctx context.Context) ([]Remedy, error) {
	if len(p.why.Short) == 0 && len(p.why.Excluded) > 0 {
		return nil, nil // Room is not what lacks.
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table, err := turns.Set(ctx, p.cluster)
	if err != nil {
		return nil, err
	}
	inside := map[string]bool{}
	for _, node := range p.cluster.Nodes {
		inside[node.Name] = p.inNearest(node)
	}
	standsInside := func(pod *corev1.Pod) bool { return inside[pod.Spec.NodeName] }
	around := map[string]*occupant{}
	mayLeave := func(workload *preemption.Workload, pods []*corev1.Pod) bool {
		if !slices.ContainsFunc(pods, standsInside) || slices.ContainsFunc(pods, ofDaemonSet) {
			return false
		}
		name := occupantOf(pods[0])
		around[name] = &occupant{name: name, priority: workload.Priority, spared: workload.Protected, pods: len(pods)}
		if workload.Protected {
			workload.Protected, workload.Priority = false, math.MaxInt32-1
		}
		return true
	}
	choice, err := table.KeepingRoom().Preempt(ctx, p.turn, p.cluster.PodGroup, mayLeave)
	if err != nil || choice == nil && len(around) == 0 {
		return nil, err
	}
	if choice == nil {
		_, fits, err := p.enough(ctx, byOccupant(p.cluster.Pods, func(pod *corev1.Pod) bool {
			return standsInside(pod) && around[occupantOf(pod)] != nil
		}), false)
		return []Remedy{{Kind: FreeRoom, Change: "stop everything else in " + p.nearest(), Fits: fits}}, err
	}
	remedy, err := p.stopVictims(ctx, choice, around, standsInside)
	return []Remedy{remedy}, err
}

// stopVictims stops those of the victims whom it takes.
func (p *unplaced) stopVictims(
	ctx context.Context, choice *preemption.Choice, around map[string]*occupant, standsInside func(*corev1.Pod) bool,
) (Remedy, error) {
	stopped := sets.New[types.UID]()
	for _, victim := range choice.Victims {
		stopped.Insert(victim.UID)
	}
	gone := byOccupant(p.cluster.Pods, func(pod *corev1.Pod) bool { return stopped.Has(pod.UID) })
	names, fits, err := p.enough(ctx, gone, true)
	if err != nil {
		return Remedy{}, err
	}
	if len(names) == 0 {
		change := fmt.Sprintf("wait for %s to be gone", preemption.Count(len(choice.Awaited), "pod"))
		return Remedy{Kind: FreeRoom, Change: change, Fits: fits}, nil
	}
	for _, name := range names {
		around[name].stop(gone[name], standsInside, p.scarce())
	}
	change := p.freed(around)
	if fits && slices.ContainsFunc(p.cluster.Pods, leaves) {
		waits, err := p.waits(ctx, around, some(gone, names))
		if err != nil {
			return Remedy{}, err
		}
		if waits {
			change += "; pods that leave already have to be gone too"
		}
	}
	return Remedy{Kind: FreeRoom, Change: change, Fits: fits}, nil
}

// waits reports whether the gang does not fit by the end of the victims alone, while others leave. Those that leave
// from a gang of which all pods are victims count as victims.
func (p *unplaced) waits(
	ctx context.Context, around map[string]*occupant, victims sets.Set[*corev1.Pod],
) (bool, error) {
	alone, err := p.without(ctx, func(pod *corev1.Pod) bool {
		one := around[occupantOf(pod)]
		return victims.Has(pod) || one != nil && one.leaving == one.pods
	})
	return !alone, err
}

func leaves(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// some are the pods of those with certain names.
func some(by map[string][]*corev1.Pod, names []string) sets.Set[*corev1.Pod] {
	pods := sets.New[*corev1.Pod]()
	for _, name := range names {
		pods.Insert(by[name]...)
	}
	return pods
}

// without reports whether the gang fits when some pods are gone.
func (p *unplaced) without(ctx context.Context, gone func(*corev1.Pod) bool) (bool, error) {
	other := *p.cluster
	other.Pods = slices.DeleteFunc(slices.Clone(p.cluster.Pods), gone)
	answer, err := p.in(ctx, &other)
	return answer != nil, err
}

// stop counts pods of the occupant as leaving, and what those in the nearest domain free.
func (o *occupant) stop(pods []*corev1.Pod, standsInside func(*corev1.Pod) bool, scarce corev1.ResourceName) {
	o.leaving = len(pods)
	for _, pod := range pods {
		if standsInside(pod) {
			requested := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})[scarce]
			o.amount += requested.AsApproximateFloat64()
		}
	}
}

func byOccupant(pods []*corev1.Pod, chosen func(*corev1.Pod) bool) map[string][]*corev1.Pod {
	by := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if chosen(pod) {
			by[occupantOf(pod)] = append(by[occupantOf(pod)], pod)
		}
	}
	return by
}

// enough names those of some occupants who have to stop, and reports whether the gang fits then; preempted is whether
// it does by preemption, which keeps the nodes that are left. For people who stop somebody, these may have to stay
// empty as spares, and others not.
func (p *unplaced) enough(
	ctx context.Context, gone map[string][]*corev1.Pod, preempted bool,
) (names []string, fits bool, err error) {
	names = slices.Sorted(maps.Keys(gone))
	if len(p.table.Wanted()) == 0 {
		return names, preempted, nil
	}
	without := func(fewer []string) (bool, error) {
		stopped := some(gone, fewer)
		return p.without(ctx, func(pod *corev1.Pod) bool { return leaves(pod) || stopped.Has(pod) })
	}
	if fits, err := without(names); err != nil || !fits {
		return names, false, err
	}
	needed, err := completed(nil, names, without)
	if len(needed) == 0 { // What leaves already is enough, though preemption asked for more.
		needed = names
	}
	return needed, true, err
}

// occupantOf names the gang of a pod, or the pod if it has none.
func occupantOf(pod *corev1.Pod) string {
	if key, member := gang.KeyOf(pod); member {
		return "gang " + key.String()
	}
	return "pod " + pod.Namespace + "/" + pod.Name
}

// ofDaemonSet reports whether a pod would be back at once.
func ofDaemonSet(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "DaemonSet"
	})
}

// String names what stops of the occupant.
func (o *occupant) String() string {
	named := o.name
	if o.leaving < o.pods {
		named = fmt.Sprintf("%d of %d pods of %s", o.leaving, o.pods, o.name)
	}
	if o.spared {
		return fmt.Sprintf("%s (priority %d, non-preemptible)", named, o.priority)
	}
	return fmt.Sprintf("%s (priority %d)", named, o.priority)
}

// freed says what to free, and who might go for it.
func (p *unplaced) freed(around map[string]*occupant) string {
	names, sum, outranked := []string{}, 0.0, true
	for _, one := range slices.SortedFunc(maps.Values(around), func(a, b *occupant) int {
		return cmp.Or(gang.CompareBools(a.spared, b.spared), cmp.Compare(a.priority, b.priority),
			cmp.Compare(b.amount, a.amount), cmp.Compare(a.name, b.name))
	}) {
		if one.leaving == 0 {
			continue
		}
		names = append(names, one.String())
		sum += one.amount
		outranked = outranked && !one.spared && one.priority < p.turn.Rank.Priority
	}
	change := "stop " + listed(names) + " in " + p.nearest()
	if sum > 0 {
		change = fmt.Sprintf("free %s %s in %s: stop %s", amount(p.scarce(), sum), p.scarce(),
			p.nearest(), listed(names))
	}
	if outranked {
		change += "; all of lower priority than this gang"
	}
	return change
}

func amount(name corev1.ResourceName, value float64) string {
	if name == corev1.ResourceMemory {
		return fmt.Sprintf("%.1fGi", value/(1<<30))
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", value), "0"), ".")
}

// scarce is the resource that is short, or GPUs if nothing is short but room is split up.
func (p *unplaced) scarce() corev1.ResourceName {
	for _, short := range p.why.Short {
		if short.Resource != string(corev1.ResourcePods) {
			return corev1.ResourceName(short.Resource)
		}
	}
	return "nvidia.com/gpu"
}

// nearest names the domain that the explanation is about.
func (p *unplaced) nearest() string {
	if len(p.why.Domain) == 0 {
		return "the cluster"
	}
	level := p.why.Level[strings.LastIndex(p.why.Level, "/")+1:]
	if p.why.Level == corev1.LabelHostname {
		level = "host"
	}
	return level + " " + p.why.Domain.String()
}

// inNearest reports whether a node stands in that domain.
func (p *unplaced) inNearest(node *corev1.Node) bool {
	levels := p.cluster.LevelKeys(p.why.Topology)
	for i, value := range p.why.Domain {
		if i >= len(levels) || node.Labels[levels[i]] != value {
			return false
		}
	}
	return true
}

// addNodes looks for the smallest number of nodes, of the kind that the nearest domain has, with which the gang fits
// there.
func (p *unplaced) addNodes(ctx context.Context) ([]Remedy, error) {
	model := p.model()
	most := len(p.turn.Gang.Pending) // More than a node for each pod, and the spares, is of no use.
	for _, wanted := range p.table.Wanted() {
		most += wanted.Nodes
	}
	most = min(most, maxAdded)
	if model == nil || most < 1 {
		return nil, nil
	}
	with := func(more int) (bool, error) {
		answer, err := p.withNodes(ctx, slices.Concat(p.cluster.Nodes, clones(model, more)))
		return answer != nil, err
	}
	fits, err := with(most)
	if err != nil || !fits {
		return nil, err
	}
	least, err := smallest(most, with)
	if err != nil {
		return nil, err
	}
	change := fmt.Sprintf("add %s like %s to %s", preemption.Count(least, "node"), model.Name, p.nearest())
	return []Remedy{{Kind: AddNodes, Change: change, Fits: true}}, nil
}

// model is the node of the nearest domain that offers most of what is short, of those that take one of the pods.
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
		if better && !node.Spec.Unschedulable && !unwell(node) && p.inNearest(node) && takes(node) {
			best, offered = node, offers
		}
	}
	return best
}

func clones(model *corev1.Node, number int) []*corev1.Node {
	nodes := make([]*corev1.Node, number)
	for i := range nodes {
		node := model.DeepCopy()
		node.Name = fmt.Sprintf("packtree.dev-added-%d", i)
		node.UID = ""
		for key, value := range node.Labels {
			if value == model.Name {
				node.Labels[key] = node.Name // The host's own name, under whatever label.
			}
		}
		nodes[i] = node
	}
	return nodes
}
