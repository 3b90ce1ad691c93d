package overview

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestReservationsOfAllGangsAreListedInEveryNamespace(t *testing.T) {
	until := metav1.Unix(1000, 0)
	cluster := inventory.New()
	for _, name := range []string{"b", "a"} {
		cluster.PodGroups = append(cluster.PodGroups, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "of-" + name, Name: name},
			Status: scheduling.PodGroupStatus{Reservations: []scheduling.ReservationStatus{
				{Reason: scheduling.ReservationOvertaken, Nodes: []string{"n0"}, Until: &until},
				{Reason: scheduling.ReservationPreempting, Nodes: []string{"n1", "n1"}},
			}},
		})
	}
	var want []Reservation
	for _, name := range []string{"a", "b"} {
		want = append(want,
			Reservation{Namespace: "of-" + name, Gang: name, Reason: "Overtaken", Nodes: []string{"n0"}, Until: &until},
			Reservation{Namespace: "of-" + name, Gang: name, Reason: "Preempting", Nodes: []string{"n1", "n1"}})
	}
	for _, namespace := range []string{"", "of-b"} {
		seen, err := Of(t.Context(), cluster, Question{Namespace: namespace})
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(want, seen.Reservations), "namespace %q (-want +got)", namespace)
	}
}
