package shapes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/scheduler/shapes"
)

func TestANamedShapeIsForNodesWithItsLabelsWhateverTheirTaints(t *testing.T) {
	node := func(gpu string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"gpu": gpu, "disk": "ssd"}},
			Spec:       corev1.NodeSpec{Taints: taints},
		}
	}
	asked, err := shapes.FromConfiguration([]shapes.Named{{
		Name: "n", Pods: 1, Resources: corev1.ResourceList{"cpu": resource.MustParse("1")},
		NodeSelector: map[string]string{"gpu": "y"},
	}})
	require.NoError(t, err)
	tainted := corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}
	if named := asked[0]; named.Takes(node("x")) || !named.Takes(node("y")) || !named.Takes(node("y", tainted)) {
		t.Error("it takes other nodes")
	}
}
