package status_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
)

// gangOf is a gang about which the scheduler says something.
func gangOf(
	name string, phase schedulerv1alpha1.PodGangPhase, scheduled metav1.ConditionStatus, message string,
) *schedulerv1alpha1.PodGang {
	gang := &schedulerv1alpha1.PodGang{ObjectMeta: metav1.ObjectMeta{Name: name}}
	gang.Status.Phase = phase
	gang.Status.Conditions = []metav1.Condition{{Type: schedulerv1alpha1.ConditionScheduled, Status: scheduled,
		Reason: "Judged", Message: message}}
	return gang
}

func TestGangsWithProblemsAreListedFirst(t *testing.T) {
	set, observed, _ := world(t)
	low, high := gangOf("d", "Running", "True", ""), gangOf("c", "Running", "True", "")
	low.Status.PlacementScore, high.Status.PlacementScore = ptr.To(0.5), ptr.To(1.0)
	observed.Gangs = []*schedulerv1alpha1.PodGang{
		gangOf("a", "Running", "True", ""), gangOf("b", "Running", "True", "1 pod beyond the minimum waits"), high, low,
		gangOf("e", "Starting", "True", ""), gangOf("f", "", "False", "no room"), gangOf("g", "Pending", "False", "no room"),
		gangOf("h", "Succeeded", "True", ""), gangOf("i", "Failed", "True", ""),
	}
	got := status.OfSet(set, observed, nil)
	var names []string
	for _, gang := range got.PodGangStatuses {
		names = append(names, gang.Name)
	}
	assert.Empty(t, cmp.Diff("i f g e b d a c h", strings.Join(names, " ")), "gangs (-want +got)")
	want := &grovev1alpha1.PodGangCounts{Total: 9, Pending: 2, Starting: 1, Running: 4, Failed: 1, Succeeded: 1, Scored: 2,
		LowestPlacementScore: ptr.To(0.5)}
	assert.Empty(t, cmp.Diff(want, got.PodGangs), "counts (-want +got)")
}

// TestTheStatusOfThousandsOfGangsFitsIntoAnObject: etcd takes 1.5 MiB, and the spec needs some of it. Messages of the
// scheduler are longer than this one only for gangs of many groups.
func TestTheStatusOfThousandsOfGangsFitsIntoAnObject(t *testing.T) {
	set, observed, _ := world(t)
	observed.Gangs = nil
	for i := range 2000 {
		gang := gangOf(fmt.Sprintf("%s-%d", strings.Repeat("n", 58), i), "Pending", "False", strings.Repeat("w", 400))
		for _, kind := range []string{"Initialized", "Ready", "Unhealthy", "DisruptionTarget"} {
			gang.Status.Conditions = append(gang.Status.Conditions, metav1.Condition{Type: kind, Status: "False",
				Reason: "PodGangPodsCreationPending", Message: strings.Repeat("w", 100)})
		}
		observed.Gangs = append(observed.Gangs, gang)
	}
	content, err := json.Marshal(status.OfSet(set, observed, nil))
	require.NoError(t, err)
	t.Logf("%d bytes", len(content))
	assert.LessOrEqual(t, len(content), 512<<10)
}
