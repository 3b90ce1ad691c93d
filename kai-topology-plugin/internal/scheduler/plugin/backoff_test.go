package plugin

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// A gang of two pods asks for one node more than there is.
func TestAGangIsTriedAsOftenAsItsBackoffSays(t *testing.T) {
	for name, c := range map[string]struct {
		backoff *int32
		rounds  int
	}{
		"once":                        {ptr.To[int32](1), 1},
		"three times":                 {ptr.To[int32](3), 3},
		"for ever, if it says so":     {ptr.To(scheduling.NoSchedulingBackoff), 0},
		"for ever, if it is unset":    {nil, 0},
		"for ever, if it says 0":      {ptr.To[int32](0), 0},
		"twice, and not a round more": {ptr.To[int32](2), 2},
	} {
		t.Run(name, func(t *testing.T) {
			group := podGroup("gang", 2)
			group.Spec.SchedulingBackoff = c.backoff
			pods := []*corev1.Pod{newPod("gang", "a"), newPod("gang", "b")}
			bench := newBench(t, newNodes(1), pods, group)
			for round := 1; round <= 5; round++ {
				_, status := bench.schedule(t, pods[0])
				given := strings.HasPrefix(status.Message(), "not tried again")
				require.Equal(t, c.rounds > 0 && round > c.rounds, given, "round %d: %s", round, status.Message())
			}
			held := !bench.plugin.PreEnqueue(t.Context(), pods[0]).IsSuccess()
			assert.Equal(t, c.rounds > 0, held, "held by PreEnqueue")
			assert.NotEqual(t, held, bench.plugin.gangs.View(gang.KeyOfPodGroup(group)).Waits, "keeps room from others")
		})
	}
}

func TestAGangThatWasGivenUpIsTriedAgain(t *testing.T) {
	group := podGroup("gang", 2)
	group.Spec.SchedulingBackoff = ptr.To[int32](1)
	pods := []*corev1.Pod{newPod("gang", "a"), newPod("gang", "b")}
	mark := scheduling.SchedulingCondition{Type: scheduling.UnschedulableOnNodePool, Status: corev1.ConditionTrue}
	for name, change := range map[string]func(group *scheduling.PodGroup){
		"when its spec changes":    func(group *scheduling.PodGroup) { group.Generation++ },
		"when the mark is removed": func(group *scheduling.PodGroup) { group.Status.SchedulingConditions = nil },
	} {
		t.Run(name, func(t *testing.T) {
			bench := newBench(t, newNodes(1), pods, group)
			bench.schedule(t, pods[0])
			before, after := group.DeepCopy(), group.DeepCopy()
			before.Status.SchedulingConditions = []scheduling.SchedulingCondition{mark}
			after.Status.SchedulingConditions = before.Status.SchedulingConditions
			require.False(t, bench.plugin.PreEnqueue(t.Context(), pods[0]).IsSuccess(), "not given up")
			change(after)
			bench.activator.reset()
			bench.plugin.podGroupHandler().OnUpdate(before, after)
			status := bench.plugin.PreEnqueue(t.Context(), pods[0])
			assert.True(t, status.IsSuccess(), status.Message())
			assert.True(t, bench.activator.called("a"), "its pods are not called")
		})
	}
}
