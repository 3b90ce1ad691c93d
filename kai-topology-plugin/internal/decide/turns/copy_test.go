package turns_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
)

func on(node string, uids ...string) *inventory.Inventory {
	cluster := inventory.New()
	cluster.Nodes = []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: node}}}
	for _, uid := range uids {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: types.UID(uid)}}
		pod.Spec.NodeName = node
		cluster.Pods = append(cluster.Pods, pod)
	}
	return cluster
}

// seen returns a function that counts the pods of the one node of a table.
func seen(t *testing.T, node string, pods int) func(*turns.Table) error {
	return func(table *turns.Table) error {
		_, err := table.Requests(&corev1.Pod{})
		require.NoError(t, err)
		nodes := table.Nodes()
		if len(nodes) != 1 || nodes[0].Node().Name != node || len(nodes[0].GetPods()) != pods {
			t.Errorf("%d nodes, the first with %d pods; want %s with %d", len(nodes), len(nodes[0].GetPods()), node, pods)
		}
		return nil
	}
}

func TestACopyOfWhatCannotBeIsMadeAnew(t *testing.T) {
	var copied turns.Copy
	for _, step := range []struct {
		cluster *inventory.Inventory
		node    string
		pods    int
		fails   bool
	}{
		{cluster: on("a", "1", "2"), node: "a", pods: 2},
		{cluster: on("b", "1", "1"), fails: true},
		{cluster: on("b", "1"), node: "b", pods: 1},
		{cluster: on("b", "1", "3"), node: "b", pods: 2},
	} {
		err := copied.On(t.Context(), step.cluster, seen(t, step.node, step.pods))
		assert.Equal(t, step.fails, err != nil, "%d pods on %s: %v", step.pods, step.node, err)
	}
}

func TestWhatIsAskedOfACopyMayFail(t *testing.T) {
	var copied turns.Copy
	failed := errors.New("failed")
	require.ErrorIs(t, copied.On(t.Context(), on("a"), func(*turns.Table) error { return failed }), failed)
	require.NoError(t, copied.On(t.Context(), on("a", "1"), seen(t, "a", 1)))
}
