package plugin

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// A gang that changes its topology has new pods; the scheduler may see these before the changed PodGroup.
func TestPodsWaitForThePodGroupOfTheirTopology(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	for _, pod := range []*corev1.Pod{a, b} {
		pod.Annotations["grove.io/topology-name"] = "new"
	}
	before := podGroup("gang", 2)
	before.Annotations = map[string]string{scheduling.AnnotationPodsTopology: "old"}
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, before)

	status := bench.plugin.PreEnqueue(t.Context(), a)
	require.False(t, status.IsSuccess(), "the pod is not held: %v", status)
	require.Contains(t, status.Message(), "pod a was made for topology new while PodGroup gang refers to old",
		"the pod is not held: %v", status)
	if _, status := bench.schedule(t, b); !strings.Contains(status.Message(), "was made for topology new") {
		t.Fatalf("a pod of the gang that is in the queue already is scheduled: %v", status)
	}

	after := before.DeepCopy()
	after.Annotations[scheduling.AnnotationPodsTopology] = "new"
	bench.activator.reset()
	_, err := bench.objects.SchedulingV2alpha2().PodGroups("default").Update(t.Context(), after,
		metav1.UpdateOptions{})
	require.NoError(t, err)
	deadline := time.Now().Add(time.Minute)
	for !bench.activator.called("a") || !bench.activator.called("b") {
		require.False(t, time.Now().After(deadline),
			"the pods are not called when the PodGroup has changed, which has the generation that it had")
		time.Sleep(time.Millisecond)
	}
	status = bench.plugin.PreEnqueue(t.Context(), a)
	assert.True(t, status.IsSuccess(), "the pod is still held: %v", status)
	_, status = bench.schedule(t, a)
	assert.True(t, status.IsWait(), "the gang is not placed: %v", status)
}
