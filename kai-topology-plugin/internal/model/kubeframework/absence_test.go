package kubeframework_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

func TestWithoutShowsNodesWithoutPodsForAWhile(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	pods := []*corev1.Pod{{}, {}}
	for i, name := range []string{"a", "b"} {
		pods[i].Name, pods[i].UID, pods[i].Spec.NodeName = name, types.UID(name), "n"
		pods[i].Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: int32(80 + i)}}}}
	}
	snapshot := cache.NewSnapshot(pods, []*corev1.Node{node})
	info, err := snapshot.Get("n")
	require.NoError(t, err)
	generation := info.GetGeneration()
	broken := errors.New("broken")
	err = kubeframework.Without(snapshot, pods[:1], func() error {
		if standing := info.GetPods(); len(standing) != 1 || standing[0].GetPod().Name != "b" ||
			info.GetUsedPorts().Len() != 1 {
			t.Errorf("%d pods and %d ports are shown", len(standing), info.GetUsedPorts().Len())
		}
		assert.NotEqual(t, generation, info.GetGeneration(), "who compares generations does not see the change")
		return broken
	})
	require.ErrorIs(t, err, broken)
	if len(info.GetPods()) != 2 || info.GetUsedPorts().Len() != 2 || info.GetGeneration() != generation {
		t.Errorf("afterwards %d pods and %d ports are shown", len(info.GetPods()), info.GetUsedPorts().Len())
	}
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}, Spec: corev1.PodSpec{NodeName: "n"}}
	require.Error(t, kubeframework.Without(snapshot, []*corev1.Pod{pods[0], stranger}, func() error { return nil }),
		"a pod that does not stand there is taken off")
	assert.Len(t, info.GetPods(), 2, "a failure leaves pods out")
}
