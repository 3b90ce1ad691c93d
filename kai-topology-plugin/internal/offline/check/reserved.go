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

// reserved reads the room that a certificate takes for reserved. Room is kept for gangs that follow one which has been
// verified to be placed and ranks no lower than the one that waits, and only where they would be placed rightly. The
// error says what else it is.
func (v *verifier) reserved(
	ctx context.Context, waiting turns.Turn, kept map[string]string,
) (clusterview.Reserved, error) {
	room, nodes := clusterview.Reserved{}, map[gang.Key]map[string]string{}
	pods := map[string]*corev1.Pod{}
	for _, pod := range v.cluster.Pods {
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		pod := pods[name]
		if pod == nil {
			return nil, fmt.Errorf("it takes room for reserved for pod %q, which is not in the input", name)
		}
		key, _ := gang.KeyOf(pod)
		if nodes[key] == nil {
			nodes[key] = map[string]string{}
		}
		nodes[key][pod.Name] = kept[name]
		room[kept[name]] = append(room[kept[name]], pod)
	}
	for _, key := range slices.SortedFunc(maps.Keys(nodes), compareKeys) {
		if err := v.follows(ctx, waiting, key, nodes[key]); err != nil {
			return nil, fmt.Errorf("it takes room for reserved for PodGroup %s: %w", key, err)
		}
	}
	return room, nil
}

func compareKeys(a, b gang.Key) int {
	return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
}

// follows verifies that room is kept for a gang on these nodes.
func (v *verifier) follows(ctx context.Context, waiting turns.Turn, key gang.Key, nodes map[string]string) error {
	follower, waits := v.waiting[key]
	if !waits || follower.Gang.Shared == nil {
		return fmt.Errorf("it does not wait to follow another one")
	}
	leader, placed := v.placed[follower.Gang.Shared.Base]
	if !placed || leader.Rank.Priority < waiting.Rank.Priority || leader.Rank.Gang == waiting.Rank.Gang {
		return fmt.Errorf("the PodGroup %s that it follows is not placed, or ranks below this one",
			follower.Gang.Shared.Base)
	}
	released := gang.Released(v.members[key])
	assembled, hold := gang.Assemble(follower.Gang.PodGroup, released, v.cluster.Levels)
	if hold != nil {
		return fmt.Errorf("it is %s", hold.Reason)
	}
	faults, err := v.placement(ctx, turns.Turn{Gang: assembled, Rank: follower.Rank}, nodes)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}
