package overview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestSeatsAreListedByGangAndNode(t *testing.T) {
	until := metav1.NewTime(time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC))
	cluster := inventory.New()
	for _, name := range []string{"b", "a"} {
		cluster.PodGroups = append(cluster.PodGroups, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "of-" + name, Name: name},
			Status: scheduling.PodGroupStatus{Seats: []scheduling.SeatsStatus{
				{SubGroup: "worker", Nodes: []string{"n2", "n2"}, Until: &until}, {SubGroup: "leader", Nodes: []string{"n1"}},
			}},
		})
	}
	of := func(name string) []Seat {
		seat := Seat{Namespace: "of-" + name, Gang: name, SubGroup: "worker", Node: "n2", Until: &until}
		return []Seat{{Namespace: "of-" + name, Gang: name, SubGroup: "leader", Node: "n1"}, seat, seat}
	}
	for namespace, want := range map[string][]Seat{"": append(of("a"), of("b")...), "of-b": of("b"), "else": nil} {
		seen, err := Of(t.Context(), cluster, Question{Namespace: namespace})
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(want, seen.Seats), "namespace %q (-want +got)", namespace)
	}
}
