package place

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/translation"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// result is what place prints as JSON.
type result struct {
	PodGroups           []podGroupResult `json:"podGroups"`
	SearchNodes         int              `json:"searchNodes"`
	ElapsedMicroseconds int64            `json:"elapsedMicroseconds"`
}

type podGroupResult struct {
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	Verdict     string            `json:"verdict"`
	Reason      string            `json:"reason"`
	Message     string            `json:"message"`
	Assignments map[string]string `json:"assignments"`
	SubGroups   []subGroupResult  `json:"subGroups"`
}

type subGroupResult struct {
	Name                   string              `json:"name"`
	Topology               string              `json:"topology"`
	RequiredTopologyLevel  string              `json:"requiredTopologyLevel"`
	PreferredTopologyLevel string              `json:"preferredTopologyLevel"`
	Domains                map[string][]string `json:"domains"`
}

func (r *result) allPlaced() bool {
	return !slices.ContainsFunc(r.PodGroups, func(podGroup podGroupResult) bool {
		return podGroup.Verdict != scheduling.ReasonPlaced
	})
}

// candidate is a gang of the input that waits for its decision.
type candidate struct {
	gang *gang.Gang
	hold *gang.Hold
	rank gang.Rank
}

func (c candidate) decide(ctx context.Context, question decision.Question) (*decision.Answer, error) {
	if c.hold != nil {
		return decision.Held(c.gang, c.hold), nil
	}
	return decision.Decide(ctx, question)
}

// decideAll decides every PodGroup in the order of the scheduler, and gives the pods of the input their nodes.
func decideAll(ctx context.Context, in *input, budget int) (*result, error) {
	cluster, err := kubeframework.NewOffline(ctx, in.nodes, standing(in.pods))
	if err != nil {
		return nil, err
	}
	nodes, err := cluster.Nodes()
	if err != nil {
		return nil, err
	}
	decided := &result{PodGroups: []podGroupResult{}}
	for _, next := range candidates(in) {
		answer, err := next.decide(ctx, decision.Question{
			Gang: next.gang, Topologies: in.topologies, Nodes: nodes, Filters: cluster, Budget: budget,
		})
		if err != nil {
			return nil, fmt.Errorf("PodGroup %s: %w", next.rank.Gang, err)
		}
		if err := assume(cluster, next.gang.Pending, answer.Nodes); err != nil {
			return nil, err
		}
		decided.PodGroups = append(decided.PodGroups, resultOf(next.rank.Gang, answer))
		decided.SearchNodes += answer.Steps
	}
	return decided, nil
}

func standing(pods []*corev1.Pod) []*corev1.Pod {
	var result []*corev1.Pod
	for _, pod := range pods {
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.Spec.NodeName != "" && !over {
			result = append(result, pod)
		}
	}
	return result
}

// candidates returns the gangs in the order in which the scheduler would decide them.
func candidates(in *input) []candidate {
	members := map[gang.Key][]*corev1.Pod{}
	for _, pod := range in.pods {
		if key, ok := gang.KeyOf(pod); ok {
			members[key] = append(members[key], pod)
		}
	}
	levels := func(topology string) ([]string, bool) {
		found, ok := in.topologies[topology]
		if !ok {
			return nil, false
		}
		return translation.LevelsOf(found), true
	}
	var all []candidate
	for _, podGroup := range in.podGroups {
		pods := members[gang.Key{Namespace: podGroup.Namespace, Name: podGroup.Name}]
		assembled, hold := gang.Assemble(podGroup, pods, levels)
		if refused := refusal(assembled, levels); refused != nil {
			hold = refused
		}
		all = append(all, candidate{gang: assembled, hold: hold, rank: assembled.Rank()})
	}
	slices.SortFunc(all, func(a, b candidate) int { return a.rank.Compare(b.rank) })
	return all
}

// refusal holds the gang of a PodGroup that could not be created, for everything that is wrong with it. One that a cluster
// has, and therefore dates, is held to no more than the scheduler does: it tolerates what older writers left.
func refusal(assembled *gang.Gang, levels podgrouptree.Levels) *gang.Hold {
	podGroup := assembled.PodGroup
	if !podGroup.CreationTimestamp.IsZero() {
		return nil
	}
	errs := podgrouptree.ValidateCreate(&podGroup.Spec)
	if len(errs) == 0 {
		return nil
	}
	if assembled.Tree != nil {
		errs = append(errs, assembled.Tree.Blockers(levels)...)
	}
	return gang.Invalid(errs)
}

// assume puts the pods on their nodes, so that later gangs see what is left.
func assume(cluster *kubeframework.Offline, pods []*corev1.Pod, nodes map[string]string) error {
	for _, pod := range pods {
		node, ok := nodes[pod.Name]
		if !ok {
			continue
		}
		pod.Spec.NodeName = node
		if err := cluster.Assume(pod); err != nil {
			return fmt.Errorf("putting pod %s/%s on node %s: %w", pod.Namespace, pod.Name, node, err)
		}
	}
	return nil
}

func resultOf(key gang.Key, answer *decision.Answer) podGroupResult {
	printed := podGroupResult{
		Namespace:   key.Namespace,
		Name:        key.Name,
		Verdict:     answer.Verdict,
		Message:     answer.Message,
		Assignments: map[string]string{},
		SubGroups:   []subGroupResult{},
	}
	if answer.Verdict != scheduling.ReasonPlaced {
		printed.Reason = answer.Verdict
	}
	for pod, node := range answer.Nodes {
		printed.Assignments[pod] = node
	}
	for _, group := range answer.Groups {
		domains := group.Domains
		if domains == nil {
			domains = map[string][]string{}
		}
		printed.SubGroups = append(printed.SubGroups, subGroupResult{
			Name:                   group.Name,
			Topology:               group.Constraint.Topology,
			RequiredTopologyLevel:  group.Constraint.Required,
			PreferredTopologyLevel: group.Constraint.Preferred,
			Domains:                domains,
		})
	}
	return printed
}
