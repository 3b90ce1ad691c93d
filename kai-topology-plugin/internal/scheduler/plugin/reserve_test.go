package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// inLeaf makes a pod of a subgroup.
func inLeaf(leaf, name string) *corev1.Pod {
	pod := newPod("gang", name)
	pod.Labels = map[string]string{kai.LabelSubGroupName: leaf}
	return pod
}

// asMade is a pod as it was before it was grouped.
func asMade(pod *corev1.Pod) *corev1.Pod {
	made := pod.DeepCopy()
	made.Labels, made.Annotations = nil, nil
	return made
}

// change changes a pod, and waits until gangstate knows it.
func (b *bench) change(t *testing.T, pod *corev1.Pod, known func() bool) {
	t.Helper()
	_, err := b.ClientSet().CoreV1().Pods(pod.Namespace).Update(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, "the change of pod "+pod.Name+" is known", known)
}

// The queue may have a pod from before it was grouped. It is put on its node as what it is now: what comes later is
// planned around it.
func TestAPodThatTheQueueHasFromBeforeItWasGroupedCountsInItsSubgroup(t *testing.T) {
	x, y, late := inLeaf("x", "x"), inLeaf("y", "y"), inLeaf("x", "late")
	late.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: grove.SchedulingGatePodGangPending}}
	bench := newBench(t, newNodes(3), []*corev1.Pod{x, y, late}, withLeaves(podGroup("gang", 0), "x", "y"))
	_, status := bench.schedule(t, asMade(x))
	require.True(t, status.IsWait(), "%v", status)
	_, status = bench.schedule(t, asMade(y))
	require.True(t, status.IsSuccess(), "%v", status)
	late = late.DeepCopy()
	late.Spec.SchedulingGates = nil
	bench.change(t, late, func() bool { return bench.activator.called("late") })
	node, status := bench.schedule(t, late)
	assert.True(t, status.IsSuccess(), "a further pod is put on %q: %v", node, status)
}

// A gang was complete when PreEnqueue let its pod pass, and is not when the pod comes to be planned.
func TestAPodOfAGangThatCannotBePlannedAnyMoreWaitsForThatOnly(t *testing.T) {
	x, y := inLeaf("x", "x"), inLeaf("y", "y")
	bench := newBench(t, newNodes(2), []*corev1.Pod{x, y}, withLeaves(podGroup("gang", 0), "x", "y"))
	status := bench.plugin.PreEnqueue(t.Context(), x)
	require.True(t, status.IsSuccess(), "%v", status)
	strayed := y.DeepCopy()
	delete(strayed.Labels, kai.LabelSubGroupName)
	bench.change(t, strayed, func() bool { return bench.activator.called("y") })
	node, status := bench.schedule(t, x)
	require.False(t, status.IsSuccess(), "a gang without a pod of a subgroup is planned: to %q", node)
	bench.activator.reset()
	bench.change(t, y, func() bool { return bench.activator.called("y") })
	assert.True(t, bench.activator.called("x"), "the pod that waits is not tried again when the gang is complete")
}

// The caches show a change before word of it comes.
func TestAPodIsTriedAgainIfItsGangIsPlannableByWhatIsKnownOfIt(t *testing.T) {
	x, y := inLeaf("x", "x"), inLeaf("y", "y")
	bench := newBench(t, newNodes(2), []*corev1.Pod{x, y}, withLeaves(podGroup("gang", 0), "x", "y"))
	shown := asMade(y)
	shown.Annotations = y.Annotations
	require.NoError(t, bench.plugin.lister.Members.Update(shown))
	node, status := bench.schedule(t, x)
	require.False(t, status.IsSuccess(), "a gang without a pod of a subgroup is planned: to %q", node)
	assert.True(t, bench.activator.called("x"), "the pod waits for an event that need not come")
}

// The event that a pod was deleted may come before the queue asks about the pod: no later event would take it out of
// its gang.
func TestAPodThatIsGoneIsNotHeld(t *testing.T) {
	x, y := inLeaf("x", "x"), inLeaf("y", "y")
	bench := newBench(t, newNodes(2), []*corev1.Pod{x, y}, withLeaves(podGroup("gang", 0), "x", "y"))
	pods := bench.ClientSet().CoreV1().Pods(y.Namespace)
	require.NoError(t, pods.Delete(t.Context(), y.Name, metav1.DeleteOptions{}))
	eventually(t, "the deletion is known", func() bool {
		return !bench.plugin.PreEnqueue(t.Context(), x).IsSuccess()
	})
	require.False(t, bench.plugin.PreEnqueue(t.Context(), y).IsSuccess(),
		"a pod of a gang that is not complete goes into the queue")
	bench.activator.reset()
	_, err := pods.Create(t.Context(), inLeaf("y", "z"), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, "the pod that is there is tried", func() bool { return bench.activator.called("x") })
	assert.False(t, bench.activator.called("y"), "the pod that is gone is tried")
}
