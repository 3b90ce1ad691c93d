package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// reserved reads the room that a certificate takes for reserved. Room is kept for pods that a gang is expected to have,
// and for gangs that follow it, if it has been verified to be placed and ranks no lower than the one that waits, and
// only where they would be placed rightly. The error says what else it is.
func (v *verifier) reserved(
	ctx context.Context, waiting turns.Turn, kept map[string]string,
) (clusterview.Reserved, error) {
	room, nodes, theirs := clusterview.Reserved{}, map[gang.Key]map[string]string{}, map[gang.Key][]*corev1.Pod{}
	pods := map[string]*corev1.Pod{}
	for _, pod := range slices.Concat(v.cluster.Pods, v.expected) {
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		pod := pods[name]
		if pod == nil {
			return nil, fmt.Errorf("it takes room for reserved for pod %q, which is neither in the input nor expected", name)
		}
		key, _ := gang.KeyOf(pod)
		if nodes[key] == nil {
			nodes[key] = map[string]string{}
		}
		nodes[key][pod.Name], theirs[key] = kept[name], append(theirs[key], pod)
		room[kept[name]] = append(room[kept[name]], pod)
	}
	for _, key := range slices.SortedFunc(maps.Keys(nodes), compareKeys) {
		if err := v.follows(ctx, waiting, key, theirs[key], nodes[key]); err != nil {
			return nil, fmt.Errorf("it takes room for reserved for PodGroup %s: %w", key, err)
		}
	}
	return room, nil
}

func compareKeys(a, b gang.Key) int {
	return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
}

// follows verifies that room is kept for pods of a gang on these nodes.
func (v *verifier) follows(
	ctx context.Context, waiting turns.Turn, key gang.Key, pods []*corev1.Pod, nodes map[string]string,
) error {
	follower, expects := v.placed[key]
	base := key
	if !expects {
		var waits bool
		if follower, waits = v.waiting[key]; !waits || follower.Gang.Shared == nil {
			return fmt.Errorf("it does not wait to follow another one")
		}
		base = follower.Gang.Shared.Base
	}
	leader, placed := v.placed[base]
	if !placed || leader.Rank.Priority < waiting.Rank.Priority || base == waiting.Rank.Gang {
		return fmt.Errorf("the PodGroup %s that it follows is not placed, or ranks below this one", base)
	}
	assembled, hold := gang.Assemble(follower.Gang.PodGroup, gang.Released(v.members[key]), v.cluster.Levels)
	if hold != nil {
		return fmt.Errorf("it is %s", hold.Reason)
	}
	if expects {
		assembled.Pending = pods
	}
	faults, err := v.placement(ctx, turns.Turn{Gang: assembled, Rank: follower.Rank}, nodes)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}
