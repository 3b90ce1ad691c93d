package explanation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestWhatKAISaysOfAGangIsShown(t *testing.T) {
	refused := []scheduling.SchedulingCondition{
		{Type: scheduling.UnschedulableOnNodePool, Status: corev1.ConditionTrue, NodePool: "a", Reason: "NotEnough",
			Message: "no node has 8 GPUs"},
		{Type: scheduling.UnschedulableOnNodePool, Status: corev1.ConditionFalse, NodePool: "b", Message: "old"},
		{Type: "Other", Status: corev1.ConditionTrue},
	}
	ours := metav1.Condition{Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse, Reason: "Infeasible",
		Message: "no rack has room"}
	for name, c := range map[string]struct {
		status scheduling.PodGroupStatus
		want   []Condition
	}{
		"a node pool that refuses it": {
			status: scheduling.PodGroupStatus{SchedulingConditions: refused},
			want: []Condition{
				{Type: "UnschedulableOnNodePool", Status: "True", Reason: "NotEnough", Message: "no node has 8 GPUs"},
			},
		},
		"our scheduler has said it already": {
			status: scheduling.PodGroupStatus{SchedulingConditions: refused, Conditions: []metav1.Condition{ours}},
			want:   []Condition{{Type: "Scheduled", Status: "False", Reason: "Infeasible", Message: "no rack has room"}},
		},
		"a condition without a reason": {
			status: scheduling.PodGroupStatus{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}},
			want:   []Condition{{Type: "Ready", Status: "True"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := inventory.New()
			cluster.PodGroups = []*scheduling.PodGroup{
				{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pg-train-1"}, Status: c.status},
			}
			object := grow(cluster, "ns").objects[id(KindPodGroup, "pg-train-1")]
			assert.Empty(t, cmp.Diff(c.want, object.Conditions), "conditions (-want +got)")
		})
	}
}

func TestOwnersInACircleAreShownOnce(t *testing.T) {
	made := func(apiVersion, kind, owner, name string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetAPIVersion(apiVersion)
		object.SetKind(kind)
		object.SetNamespace("ns")
		object.SetName(name)
		object.SetOwnerReferences([]metav1.OwnerReference{{Kind: owner, Name: name}})
		return object
	}
	cluster := inventory.New()
	cluster.Workloads = []*unstructured.Unstructured{
		made("nvidia.com/v1alpha1", KindDGD, KindPodGang, "w"),
		made("grove.io/v1alpha1", KindPodCliqueSet, KindDGD, "w"),
		made("scheduler.grove.io/v1alpha1", KindPodGang, KindPodCliqueSet, "w"),
	}
	for _, kind := range []string{KindDGD, KindPodCliqueSet, KindPodGang} {
		report, err := Of(t.Context(), cluster, "ns", Target{Kind: kind, Name: "w"})
		require.NoError(t, err)
		shown := 0
		for at := report.Chain; at != nil; shown++ {
			if len(at.Objects) == 0 {
				break
			}
			at = at.Objects[0]
		}
		assert.LessOrEqual(t, shown, 2, "%s objects below the outermost", kind)
	}
}
