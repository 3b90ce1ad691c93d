package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// companion is a PodGroup of one pod that shares a rack with "base".
func companion(name string) *scheduling.PodGroup {
	podGroup := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{
			scheduling.AnnotationBaseGang:       "base",
			scheduling.AnnotationSharedTopology: "t",
			scheduling.AnnotationSharedRequired: "rack",
		}}}
	podGroup.Spec.MinMember = ptr.To[int32](1)
	return podGroup
}

func TestABaseGangAwaitsThePodsOfItsFollowers(t *testing.T) {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	soft := companion("base")
	soft.Annotations[scheduling.AnnotationSharedPreferred] = soft.Annotations[scheduling.AnnotationSharedRequired]
	delete(soft.Annotations, scheduling.AnnotationSharedRequired)
	gated := newPod("follower", "f")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grove.SchedulingGatePodGangPending}}
	standing := newPod("follower", "f")
	standing.Spec.NodeName = "n0"

	for name, c := range map[string]struct {
		base     *scheduling.PodGroup
		follower *corev1.Pod
		timeIsUp bool
		waits    bool
	}{
		"while they are not there":             {base: companion("base"), waits: true},
		"not when they are, and held by Grove": {base: companion("base"), follower: gated},
		"not when they stand":                  {base: companion("base"), follower: standing},
		"not if they need not follow":          {base: soft},
		"not for longer than a moment":         {base: companion("base"), timeIsUp: true},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []*corev1.Pod{newPod("base", "b")}
			if c.follower != nil {
				pods = append(pods, c.follower)
			}
			bench := newBench(t, newNodes(2), pods, topology, c.base, companion("follower"))
			if c.timeIsUp {
				eventually(t, "the time to be up", func() bool { return bench.plugin.PreEnqueue(t.Context(), pods[0]).IsSuccess() })
			}
			status := bench.plugin.PreEnqueue(t.Context(), pods[0])
			waits := strings.Contains(status.Message(),
				"for the pods of gang follower, which has to join it in one rack")
			assert.Equal(t, c.waits, waits, "waits is %v, want %v: %q", waits, c.waits, status.Message())
			if !c.waits && !status.IsSuccess() {
				t.Errorf("held: %s", status.Message())
			}
			if c.waits {
				bench.plugin.effects.do(bench.plugin.gangs.PodChanged(nil, gated, time.Now()))
				assert.True(t, bench.activator.called("b"), "the pods are there, and the gang was not called")
			}
		})
	}
}

func TestAGangThatLeadsIsCalledWhenItsTimeIsUp(t *testing.T) {
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	pod := newPod("base", "b")
	bench := newBench(t, newNodes(2), []*corev1.Pod{pod}, topology, companion("base"), companion("follower"))
	require.False(t, bench.plugin.PreEnqueue(t.Context(), pod).IsSuccess(), "the gang does not wait")
	eventually(t, "the gang to be called", func() bool { return bench.activator.called("b") })
}
