package plugin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestMovesOfOtherProfilesKeepTheirSeats(t *testing.T) {
	moved := podGroup("moved", 1)
	moved.Status.Seats = []scheduling.SeatsStatus{{Nodes: []string{"n0"}, Priority: 3, Until: ptr.To(metav1.NewTime(time.Unix(1, 0)))}}
	moved.Status.Conditions = []metav1.Condition{{Type: scheduling.ConditionRepairPlanned, Reason: scheduling.ReasonMoving}}
	ahead, mine := moved.DeepCopy(), moved.DeepCopy()
	ahead.Name, mine.Name = "ahead", "mine"
	ahead.Status.Conditions[0].Reason = "MoveAhead"
	theirs, alike := newPod("moved", "moved-0"), newPod("ahead", "ahead-0")
	theirs.Spec.SchedulerName, alike.Spec.SchedulerName = "another", "another"
	theirs.Spec.Priority = ptr.To[int32](3)
	bench := newBench(t, newNodes(1), []*corev1.Pod{theirs, alike, newPod("mine", "mine-0")}, moved, ahead, mine)
	bench.plugin.profiles.add("another", own{})
	found, err := bench.plugin.mender.seatsOfOtherMoves([]*scheduling.PodGroup{moved, ahead, mine})
	require.NoError(t, err)
	require.Len(t, found, 1)
	seats := found[gang.Key{Namespace: "default", Name: "moved"}]
	require.Len(t, seats, 1)
	assert.Equal(t, "n0", seats[0].Node)
}
