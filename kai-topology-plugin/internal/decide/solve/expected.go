package solve

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// whole returns a gang with the pods that it is expected to have among the pending ones, and those pods.
func whole(g *gang.Gang) (*gang.Gang, []*corev1.Pod) {
	coming := g.Coming()
	if len(coming) == 0 {
		return g, nil
	}
	all := *g
	all.Pending = slices.Concat(g.Pending, coming)
	return &all, coming
}

// now returns, of the answer for a gang with the pods that it is expected to have, the answer for those of them that
// can be given a node now. The room of the others is Kept. It is nil if these stand in the way: they choose among the
// places where the gang can start, and never keep it from starting.
func now(
	ctx context.Context, request Request, coming []*corev1.Pod, answer *Answer,
) (*Answer, error) {
	if answer.Verdict != scheduling.ReasonPlaced {
		return nil, nil
	}
	now := request.Gang
	whole := len(now.Pending) + len(coming)
	later := slices.Concat(coming, halves(now, answer.Nodes))
	room := take(answer, later)
	if room == nil || !now.Satisfied(func(pod *corev1.Pod) bool { return answer.Nodes[pod.Name] != "" }) {
		return nil, nil
	}
	if len(answer.Nodes)+len(later)-len(coming) < len(now.Pending) {
		return fill(ctx, request, answer)
	}
	if answer.Message != "" {
		answer.Message = fmt.Sprintf("room for %d of the %d pods that are expected: %s",
			len(answer.Nodes)+room.pods, whole,
			answer.Message)
	}
	if room.pods > 0 {
		answer.Kept = maps.Clone(answer.Kept)
		if answer.Kept == nil {
			answer.Kept = map[gang.Key]clusterview.Reserved{}
		}
		answer.Kept[now.Key()] = room.nodes
	}
	groups, err := standing(request, answer.Nodes)
	answer.Groups, answer.Optimal = groups, false // Of more pods than are there.
	return answer, err
}

// halves returns the pods with a node of groups that have what they need only with pods that are expected: they start
// together, when these are there.
func halves(g *gang.Gang, nodes map[string]string) []*corev1.Pod {
	counts := map[string]int{}
	for _, pod := range g.Pending {
		if nodes[pod.Name] != "" {
			counts[gang.LeafOf(pod)]++
		}
	}
	var halves []*corev1.Pod
	for _, pod := range g.Pending {
		for group := g.Tree.Leaf(gang.LeafOf(pod)); group != nil && nodes[pod.Name] != ""; group = group.Parent {
			if !group.Satisfied(func(leaf *podgrouptree.Group) int { return counts[leaf.Name] }) {
				halves = append(halves, pod)
				break
			}
		}
	}
	return halves
}

// room is where pods that are expected will find theirs.
type room struct {
	nodes clusterview.Reserved
	pods  int
}

// take takes the pods that come later out of an answer. It returns nil if one of the others could only enter after
// one of them.
func take(answer *Answer, later []*corev1.Pod) *room {
	taken := &room{nodes: clusterview.Reserved{}}
	expected := make(map[string]bool, len(later))
	for _, pod := range later {
		expected[pod.Name] = true
		if node, ok := answer.Nodes[pod.Name]; ok {
			taken.nodes[node] = append(taken.nodes[node], pod)
			taken.pods++
			delete(answer.Nodes, pod.Name)
		}
	}
	if first := slices.IndexFunc(answer.Order, func(name string) bool { return expected[name] }); first >= 0 {
		if slices.ContainsFunc(answer.Order[first:], func(name string) bool { return !expected[name] }) {
			return nil
		}
		answer.Order = answer.Order[:first]
	}
	return taken
}

// fill assigns nodes to pods that were left without, if need be in the room of expected pods: existing pods go first.
func fill(ctx context.Context, request Request, found *Answer) (*Answer, error) {
	rest := request
	rest.Gang, rest.Unproved = withNodes(request.Gang, found.Nodes), true
	rest.Reserved = maps.Clone(request.Reserved)
	if rest.Reserved == nil {
		rest.Reserved = clusterview.Reserved{}
	}
	for _, pod := range request.Gang.Pending {
		if node, ok := found.Nodes[pod.Name]; ok {
			rest.Reserved[node] = append(slices.Clip(rest.Reserved[node]), pod)
		}
	}
	answer, err := byRules(ctx, rest)
	if err != nil || answer.Verdict != scheduling.ReasonPlaced {
		return nil, err
	}
	maps.Copy(answer.Nodes, found.Nodes)
	answer.Order = append(found.Order, answer.Order...)
	answer.Optimal = false // Of two searches, one after the other.
	answer.Steps += found.Steps
	answer.Kept = found.Kept
	return answer, nil
}

// standing says where the groups of a gang are once the pods have their nodes.
func standing(request Request, nodes map[string]string) ([]Group, error) {
	request.Gang = withNodes(request.Gang, nodes)
	answer, err := stand(request)
	if err != nil {
		return nil, fmt.Errorf("reading where the gang would stand: %w", err)
	}
	return answer.Groups, nil
}

// withNodes returns a gang as it is once pods have their nodes.
func withNodes(g *gang.Gang, nodes map[string]string) *gang.Gang {
	placed := *g
	placed.Pending, placed.Standing = nil, slices.Clone(g.Standing)
	for _, pod := range g.Pending {
		node, ok := nodes[pod.Name]
		if !ok {
			placed.Pending = append(placed.Pending, pod)
			continue
		}
		placed.Standing = append(placed.Standing, gang.On(node, pod))
	}
	return &placed
}
