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

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/preemption"
)

// maxTaints is how many taints are tried, the most frequent first.
const maxTaints = 6

// dropSelectors tries without all selectors, and if that helps, without each single one.
func (p *unplaced) dropSelectors(ctx context.Context) ([]Remedy, error) {
	keys, affinity := map[string]sets.Set[string]{}, false // The values of each key that one of the pods selects.
	for _, pod := range p.turn.Gang.Pending {
		for key, value := range pod.Spec.NodeSelector {
			if keys[key] == nil {
				keys[key] = sets.New[string]()
			}
			keys[key].Insert(value)
		}
		affinity = affinity || requiresAffinity(pod)
	}
	if len(keys) == 0 && !affinity {
		return nil, nil
	}
	fits, err := p.withPods(ctx, func(spec *corev1.PodSpec) { spec.NodeSelector = nil; dropAffinity(spec) })
	if err != nil {
		return nil, err
	}
	if !fits {
		change := "drop the node selectors and required node affinity of the pods"
		return []Remedy{{Kind: DropSelector, Change: change}}, nil
	}
	var found []Remedy
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		fits, err := p.withPods(ctx, func(spec *corev1.PodSpec) { delete(spec.NodeSelector, key) })
		if err != nil {
			return nil, err
		}
		if fits {
			change := fmt.Sprintf("drop node selector %s=%s", key, listed(sets.List(keys[key])))
			found = append(found, Remedy{Kind: DropSelector, Change: change, Fits: true})
		}
	}
	if affinity {
		fits, err := p.withPods(ctx, dropAffinity)
		if err != nil {
			return nil, err
		}
		if fits {
			found = append(found, Remedy{
				Kind: DropSelector, Change: "drop the required node affinity of the pods", Fits: true,
			})
		}
	}
	if len(found) == 0 {
		found = append(found, Remedy{
			Kind: DropSelector, Change: "drop all node selectors and required node affinity of the pods", Fits: true,
		})
	}
	return found, nil
}

func requiresAffinity(pod *corev1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

func dropAffinity(spec *corev1.PodSpec) {
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
}

// tolerate tries every taint that keeps pods off, one at a time. Those that Kubernetes puts on nodes by itself are no
// matter of tolerations: see uncordon and mendNodes.
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
		fits, err := p.withPods(ctx, func(spec *corev1.PodSpec) {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
				Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect,
			})
		})
		if err != nil {
			return nil, err
		}
		if fits {
			change := fmt.Sprintf("tolerate taint %s (on %s)",
				taint.ToString(), preemption.Count(onNodes[taint], "node"))
			found = append(found, Remedy{Kind: Tolerate, Change: change, Fits: true})
		}
	}
	return found, nil
}

// uncordon tries with all cordoned nodes, and names those that would be used.
func (p *unplaced) uncordon(ctx context.Context) ([]Remedy, error) {
	return p.returnNodes(ctx, Uncordon, "uncordon",
		func(node *corev1.Node) bool { return node.Spec.Unschedulable },
		func(node *corev1.Node) {
			node.Spec.Unschedulable = false
			dropTaints(node, corev1.TaintNodeUnschedulable)
		})
}

// mendNodes does likewise with nodes that are not ready.
func (p *unplaced) mendNodes(ctx context.Context) ([]Remedy, error) {
	return p.returnNodes(ctx, MendNodes, "get ready again:", unwell,
		func(node *corev1.Node) { dropTaints(node, broken...) })
}

// broken are the taints of nodes that are not well.
var broken = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable,
	corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
}

// unwell reports whether a node has one of these taints.
func unwell(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return slices.Contains(broken, taint.Key) })
}

func dropTaints(node *corev1.Node, keys ...string) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return slices.Contains(keys, taint.Key) })
}

// returnNodes tries with all nodes that are out, and names those that pods get, and those that have to stay empty
// instead of others.
func (p *unplaced) returnNodes(
	ctx context.Context, kind Kind, verb string, out func(*corev1.Node) bool, mend func(*corev1.Node),
) ([]Remedy, error) {
	var all []string
	for _, node := range p.cluster.Nodes {
		if out(node) {
			all = append(all, node.Name)
		}
	}
	slices.Sort(all)
	with := func(names []string) (*decision.Answer, error) {
		nodes, returned := slices.Clone(p.cluster.Nodes), sets.New(names...)
		for i, node := range nodes {
			if returned.Has(node.Name) {
				nodes[i] = node.DeepCopy()
				mend(nodes[i])
			}
		}
		return p.withNodes(ctx, nodes)
	}
	if len(all) == 0 {
		return nil, nil
	}
	answer, err := with(all)
	if err != nil || answer == nil {
		return nil, err
	}
	used := sets.New(slices.Collect(maps.Values(answer.Nodes))...)
	got := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !used.Has(name) })
	needed, err := completed(got, slices.DeleteFunc(all, used.Has), func(names []string) (bool, error) {
		answer, err := with(names)
		return answer != nil, err
	})
	return []Remedy{{Kind: kind, Change: verb + " " + listed(needed), Fits: true}}, err
}

// completed adds to some names those of the rest without which they are not enough, given that all are, and sorts them.
func completed(names, rest []string, enough func([]string) (bool, error)) ([]string, error) {
	for len(rest) > 0 {
		with := func(more int) (bool, error) { return enough(slices.Concat(names, rest[:more])) }
		ok, err := with(0)
		if err != nil {
			return nil, err
		}
		if ok {
			break
		}
		more, err := smallest(len(rest), with)
		if err != nil {
			return nil, err
		}
		names, rest = append(names, rest[more-1]), rest[:more-1]
	}
	slices.Sort(names)
	return names, nil
}

const namedThings = 6

func listed(names []string) string {
	if len(names) <= namedThings {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namedThings-1], ", "), len(names)-namedThings+1)
}
