package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/check"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/solve"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// Names of the built-in deciders.
const (
	FirstFit = "first-fit"
	BestFit  = "best-fit"
)

// baseline is a Decider as it is found in textbooks: pods one after the other on the first node with room, or on the
// one that has least left. It holds to required levels, in the first or the tightest domain that takes the group, and
// knows nothing of preferred ones. It never reconsiders.
type baseline struct {
	best bool
	// free is what is left on nodes, by their name, as of a generation.
	free map[string]leftover
}

type leftover struct {
	generation int64
	amounts    packing.Resources
}

func newBaseline(best bool) *baseline { return &baseline{best: best, free: map[string]leftover{}} }

// Decide fits a gang. An answer that breaks a rule which the baseline does not know is a refusal.
func (b *baseline) Decide(ctx context.Context, request solve.Request) (*decision.Answer, error) {
	f, err := b.fitting(request)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(f.nodes))
	for i := range all {
		all[i] = i
	}
	fits, err := f.group(request.Gang.Tree.Root, all)
	switch {
	case err != nil:
		return nil, err
	case fits && len(f.taken) > 0:
		return f.judged(ctx, request)
	case request.Gang.Satisfied(gang.NoPending):
		return &decision.Answer{Verdict: scheduling.ReasonPlaced}, nil
	}
	return f.refusal(request), nil
}

// fitting is a gang on its way onto nodes.
type fitting struct {
	best   bool
	levels func(topology string) []string
	nodes  []fwk.NodeInfo
	// free is what is left on each node, with the pods in taken.
	free  []packing.Resources
	taken []taking
	// pending and standing are pods by the name of their leaf.
	pending  map[string][]*corev1.Pod
	standing map[string][]*corev1.Pod
}

// taking is a pod that was given a node.
type taking struct {
	pod      *corev1.Pod
	node     int
	requests packing.Resources
}

func (b *baseline) fitting(request solve.Request) (*fitting, error) {
	f := &fitting{best: b.best, nodes: request.Nodes}
	f.pending, f.standing = map[string][]*corev1.Pod{}, map[string][]*corev1.Pod{}
	f.levels = func(topology string) []string { return podgrouptree.HierarchyOf(request.Topologies[topology]).Keys() }
	for _, pod := range request.Gang.Pending {
		f.pending[gang.LeafOf(pod)] = append(f.pending[gang.LeafOf(pod)], pod)
	}
	for _, pod := range request.Gang.Standing {
		f.standing[gang.LeafOf(pod)] = append(f.standing[gang.LeafOf(pod)], pod)
	}
	for _, node := range request.Nodes {
		free := b.leftOn(node)
		if kept := request.Reserved[node.Node().Name]; len(kept) > 0 {
			requests, err := requestsOf(kept)
			if err != nil {
				return nil, err
			}
			free = maps.Clone(free)
			add(free, requests, -1)
		}
		f.free = append(f.free, free)
	}
	return f, nil
}

// leftOn is what pods leave of a node. It is not to be changed.
func (b *baseline) leftOn(node fwk.NodeInfo) packing.Resources {
	name := node.Node().Name
	if known, ok := b.free[name]; ok && known.generation == node.GetGeneration() {
		return known.amounts
	}
	free := kubeframework.Allocatable(node)
	add(free, kubeframework.Used(node), -1)
	b.free[name] = leftover{node.GetGeneration(), free}
	return free
}

func add(to, amounts packing.Resources, times int64) {
	for resource, amount := range amounts {
		to[resource] += times * amount
	}
}

// group gives nodes to what is pending of a group, and reports whether it has its minimum then. If not, nothing is
// taken.
func (f *fitting) group(group *podgrouptree.Group, nodes []int) (bool, error) {
	required := group.Constraint.RequiredTopologyLevel
	if required == "" {
		return f.within(group, nodes)
	}
	for _, domain := range f.domains(group, nodes) {
		if fits, err := f.within(group, domain); fits || err != nil {
			return fits, err
		}
	}
	return false, nil
}

// within fits a group on nodes of which any will do.
func (f *fitting) within(group *podgrouptree.Group, nodes []int) (bool, error) {
	before := len(f.taken)
	satisfied, needed := len(f.standing[group.Name]), int(group.MinMember)
	if group.Leaf() {
		taken, err := f.leaf(f.pending[group.Name], nodes)
		if err != nil {
			return false, err
		}
		satisfied += taken
	} else {
		satisfied, needed = 0, int(group.MinSubGroup)
		for _, child := range group.Children {
			fits, err := f.group(child, nodes)
			if err != nil {
				return false, err
			}
			if fits {
				satisfied++
			}
		}
	}
	if satisfied < needed {
		f.undo(before)
		return false, nil
	}
	return true, nil
}

// domains are the nodes of each domain in which a group may stand: that in which pods of it stand, or else all, in the
// order of the nodes, or those with least left first.
func (f *fitting) domains(group *podgrouptree.Group, nodes []int) (domains [][]int) {
	keys := f.levels(group.Constraint.Topology)
	ground := gangstate.Ground{Levels: keys[:slices.Index(keys, group.Constraint.RequiredTopologyLevel)+1]}
	index := map[string]int{}
	home := f.home(group, ground)
	for _, node := range nodes {
		path, ok := ground.Domain(f.nodes[node].Node().Labels)
		if !ok || home != "" && path != home {
			continue
		}
		at, known := index[path]
		if !known {
			at = len(domains)
			index[path], domains = at, append(domains, nil)
		}
		domains[at] = append(domains[at], node)
	}
	if first := f.first(group); f.best && first != nil {
		device := f.scarcest(first)
		left := func(domain []int) (sum int64) {
			for _, node := range domain {
				sum += f.free[node][device]
			}
			return sum
		}
		slices.SortStableFunc(domains, func(a, b []int) int { return cmp.Compare(left(a), left(b)) })
	}
	return domains
}

// home is the domain in which pods of a group stand; "" if none stands.
func (f *fitting) home(group *podgrouptree.Group, ground gangstate.Ground) string {
	for _, pod := range f.standing[group.Name] {
		for _, node := range f.nodes {
			if node.Node().Name == pod.Spec.NodeName {
				path, _ := ground.Domain(node.Node().Labels)
				return path
			}
		}
	}
	for _, child := range group.Children {
		if home := f.home(child, ground); home != "" {
			return home
		}
	}
	return ""
}

// first is a pending pod of a group; nil if there is none.
func (f *fitting) first(group *podgrouptree.Group) *corev1.Pod {
	if pods := f.pending[group.Name]; len(pods) > 0 {
		return pods[0]
	}
	for _, child := range group.Children {
		if pod := f.first(child); pod != nil {
			return pod
		}
	}
	return nil
}

// scarcest is the resource by which nodes are compared for a pod: a device before CPU.
func (f *fitting) scarcest(pod *corev1.Pod) string {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if requests[name] > 0 && strings.Contains(name, "/") {
			return name
		}
	}
	return string(corev1.ResourceCPU)
}

// leaf gives nodes to as many pods as possible, one after the other, and returns how many got one.
func (f *fitting) leaf(pods []*corev1.Pod, nodes []int) (taken int, err error) {
	var requests packing.Resources
	at := 0
	for i, pod := range pods {
		if i == 0 || !kubeframework.Alike(pods[i-1], pod) || !kubeframework.AcceptedAlike(pods[i-1], pod) {
			// Where an equal pod found no room, this one will find none.
			if requests, err = kubeframework.Requests(pod); err != nil {
				return 0, fmt.Errorf("pod %s: %w", pod.Name, err)
			}
			at = 0
			if f.best {
				device := f.scarcest(pod)
				nodes = slices.Clone(nodes)
				slices.SortStableFunc(nodes, func(a, b int) int {
					return cmp.Compare(f.free[a][device], f.free[b][device])
				})
			}
		}
		takes := func(node int) bool {
			return fits(requests, f.free[node]) > 0 && kubeframework.Accepts(f.nodes[node].Node(), pod)
		}
		for at < len(nodes) && !takes(nodes[at]) {
			at++
		}
		if at < len(nodes) {
			f.take(pod, nodes[at], requests)
			taken++
		}
	}
	return taken, nil
}

func (f *fitting) take(pod *corev1.Pod, node int, requests packing.Resources) {
	f.taken = append(f.taken, taking{pod, node, requests})
	f.free[node] = maps.Clone(f.free[node])
	add(f.free[node], requests, -1)
}

// undo gives back what was taken since so many pods had been given a node.
func (f *fitting) undo(before int) {
	for _, taken := range f.taken[before:] {
		f.free[taken.node] = maps.Clone(f.free[taken.node])
		add(f.free[taken.node], taken.requests, 1)
	}
	f.taken = f.taken[:before]
}

func (f *fitting) judged(ctx context.Context, request solve.Request) (*decision.Answer, error) {
	nodes := map[string]string{}
	for _, taken := range f.taken {
		nodes[taken.pod.Name] = f.nodes[taken.node].Node().Name
	}
	faults, err := check.Placement(ctx, request.Question, nodes)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return f.refusal(request), nil
	}
	return &decision.Answer{Verdict: scheduling.ReasonPlaced, Nodes: nodes}, nil
}

// refusal says that a gang is short of the resource by which nodes are compared for its first pod.
func (f *fitting) refusal(request solve.Request) *decision.Answer {
	answer := &decision.Answer{Verdict: scheduling.ReasonInfeasible}
	if len(request.Gang.Pending) > 0 {
		answer.Explanations = shortOf(f.scarcest(request.Gang.Pending[0]))
	}
	return answer
}
