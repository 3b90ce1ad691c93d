package remedies

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// maxGivenBack is how many of the pods and gangs that must go are tried whether they might stay.
const maxGivenBack = 12

// maxAdded is how many nodes are added at most: nobody buys more for a gang that waits.
const maxAdded = 256

// occupant is a gang, or a pod without one, that has room which another gang could use.
type occupant struct {
	name     string
	priority int32
	spared   bool
	pods     map[*corev1.Pod]bool
	amount   float64
}

// freeRoom empties the nearest domain: of the occupants of least priority first, and of no more than it takes.
func (p *patient) freeRoom(ctx context.Context) ([]Remedy, error) {
	if len(p.why.Short) == 0 && len(p.why.Excluded) > 0 {
		return nil, nil // Room is not what lacks.
	}
	occupants := p.occupants()
	if len(occupants) == 0 {
		return nil, nil
	}
	without := func(gone []occupant) (bool, error) {
		answer, err := p.withCluster(ctx, p.cluster.Nodes, p.podsWithout(gone))
		return answer != nil, err
	}
	fits, err := without(occupants)
	if err != nil {
		return nil, err
	}
	if !fits {
		return []Remedy{{Kind: FreeRoom, Change: "stop everything else in " + p.nearest()}}, nil
	}
	least, err := smallest(1, len(occupants), func(first int) (bool, error) { return without(occupants[:first]) })
	if err != nil {
		return nil, err
	}
	gone, err := giveBack(occupants[:least], without)
	if err != nil {
		return nil, err
	}
	return []Remedy{{Kind: FreeRoom, Change: p.freed(gone), Fits: true}}, nil
}

// giveBack lets those stay, the most important first, without whom there is room enough.
func giveBack(gone []occupant, without func([]occupant) (bool, error)) ([]occupant, error) {
	gone = slices.Clone(gone)
	for i, tried := len(gone)-1, 0; i >= 0 && len(gone) > 1 && tried < maxGivenBack; i, tried = i-1, tried+1 {
		rest := slices.Delete(slices.Clone(gone), i, i+1)
		fits, err := without(rest)
		if err != nil {
			return nil, err
		}
		if fits {
			gone = rest
		}
	}
	return gone, nil
}

// occupants lists who stands in the nearest domain, those that are easiest to do without first.
func (p *patient) occupants() []occupant {
	inside := map[string]bool{}
	for _, node := range p.cluster.Nodes {
		inside[node.Name] = p.inNearest(node)
	}
	spared := map[gang.Key]bool{}
	for _, podGroup := range p.cluster.PodGroups {
		spared[gang.Key{Namespace: podGroup.Namespace, Name: podGroup.Name}] = podGroup.Spec.Preemptibility == scheduling.NonPreemptible
	}
	byName := map[string]*occupant{}
	for _, pod := range inventory.Standing(p.cluster.Pods) {
		key, member := gang.KeyOf(pod)
		if member && key == p.turn.Rank.Gang || !inside[pod.Spec.NodeName] || ofDaemonSet(pod) {
			continue
		}
		name := "pod " + pod.Namespace + "/" + pod.Name
		if member {
			name = "gang " + key.String()
		}
		if byName[name] == nil {
			byName[name] = &occupant{name: name, spared: spared[key], pods: map[*corev1.Pod]bool{}}
		}
		byName[name].add(pod, p.scarce())
	}
	var all []occupant
	for _, one := range byName {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b occupant) int {
		return cmp.Or(compareBools(a.spared, b.spared), cmp.Compare(a.priority, b.priority), cmp.Compare(b.amount, a.amount), cmp.Compare(a.name, b.name))
	})
	return all
}

func (o *occupant) add(pod *corev1.Pod, scarce corev1.ResourceName) {
	o.pods[pod] = true
	if pod.Spec.Priority != nil {
		o.priority = max(o.priority, *pod.Spec.Priority)
	}
	requested := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})[scarce]
	o.amount += requested.AsApproximateFloat64()
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// ofDaemonSet reports whether a pod would be back at once.
func ofDaemonSet(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.Kind == "DaemonSet" })
}

func (p *patient) podsWithout(gone []occupant) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(p.cluster.Pods), func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(gone, func(one occupant) bool { return one.pods[pod] })
	})
}

// freed says what to free, and who might go for it.
func (p *patient) freed(gone []occupant) string {
	names, sum, outranked := make([]string, len(gone)), 0.0, true
	for i, one := range gone {
		names[i] = fmt.Sprintf("%s (priority %d)", one.name, one.priority)
		if one.spared {
			names[i] = fmt.Sprintf("%s (priority %d, non-preemptible)", one.name, one.priority)
		}
		sum += one.amount
		outranked = outranked && !one.spared && one.priority < p.turn.Rank.Priority
	}
	change := "stop " + listed(names) + " in " + p.nearest()
	if sum > 0 {
		change = fmt.Sprintf("free %s %s in %s: stop %s", amount(p.scarce(), sum), p.scarce(), p.nearest(), listed(names))
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
func (p *patient) scarce() corev1.ResourceName {
	for _, short := range p.why.Short {
		if short.Resource != string(corev1.ResourcePods) {
			return corev1.ResourceName(short.Resource)
		}
	}
	return "nvidia.com/gpu"
}

// nearest names the domain that the explanation is about.
func (p *patient) nearest() string {
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
func (p *patient) inNearest(node *corev1.Node) bool {
	levels, _ := p.cluster.Levels(p.why.Topology)
	for i, value := range p.why.Domain {
		if i >= len(levels) || node.Labels[levels[i]] != value {
			return false
		}
	}
	return true
}

// addNodes looks for the smallest number of nodes, of the kind that the nearest domain has, with which the gang fits there.
func (p *patient) addNodes(ctx context.Context) ([]Remedy, error) {
	model := p.model()
	most := min(len(p.turn.Gang.Pending), maxAdded) // More than a node for each pod is of no use.
	if model == nil || most < 1 {
		return nil, nil
	}
	with := func(more int) (bool, error) {
		answer, err := p.withCluster(ctx, slices.Concat(p.cluster.Nodes, clones(model, more)), p.cluster.Pods)
		return answer != nil, err
	}
	fits, err := with(most)
	if err != nil || !fits {
		return nil, err
	}
	least, err := smallest(1, most, with)
	if err != nil {
		return nil, err
	}
	return []Remedy{{Kind: AddNodes, Change: fmt.Sprintf("add %s like %s to %s", counted(least, "node"), model.Name, p.nearest()), Fits: true}}, nil
}

// model is the node of the nearest domain that offers most of what is short, and takes pods.
func (p *patient) model() *corev1.Node {
	var best *corev1.Node
	var offered float64
	scarce := p.scarce()
	for _, node := range p.cluster.Nodes {
		quantity := node.Status.Allocatable[scarce]
		offers := quantity.AsApproximateFloat64()
		if !node.Spec.Unschedulable && p.inNearest(node) && (best == nil || offers > offered || offers == offered && node.Name < best.Name) {
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
		node.Labels = maps.Clone(node.Labels)
		for key, value := range node.Labels {
			if value == model.Name {
				node.Labels[key] = node.Name // The host's own name, under whatever label.
			}
		}
		nodes[i] = node
	}
	return nodes
}
