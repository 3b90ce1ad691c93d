package overview

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func minute(minutes int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute))
}

// about is an event that happened once, as the older API has it.
func about(namespace, kind, name, reason string, minutes int, changes ...func(*corev1.Event)) *corev1.Event {
	event := &corev1.Event{
		InvolvedObject: corev1.ObjectReference{Namespace: namespace, Kind: kind, Name: name},
		Type:           corev1.EventTypeNormal, Reason: reason, FirstTimestamp: minute(minutes), LastTimestamp: minute(minutes), Count: 1,
	}
	for _, change := range changes {
		change(event)
	}
	return event
}

func gangWithPods() *inventory.Inventory {
	cluster := inventory.New()
	owner := metav1.OwnerReference{Kind: "PodGang", Name: "made-for"}
	for _, namespace := range []string{"d", "other"} {
		cluster.PodGroups = append(cluster.PodGroups, &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g", OwnerReferences: []metav1.OwnerReference{owner}},
		})
	}
	cluster.Pods = []*corev1.Pod{podNamed("d", "g-0", "g", 1), podNamed("d", "alone", "", 1)}
	return cluster
}

func TestAHistoryIsOfThePodGroupItsOwnerAndItsPodsInOrder(t *testing.T) {
	cluster := gangWithPods()
	cluster.Events = []*corev1.Event{
		about("d", "Pod", "g-0", "Scheduled", 3),
		about("d", "PodGroup", "g", "Infeasible", 1, func(event *corev1.Event) {
			event.Type, event.Message = corev1.EventTypeWarning, "no rack has room"
		}),
		about("d", "PodGang", "made-for", "Created", 0),
		about("d", "PodGroup", "g", "Placed", 2),
		about("d", "Pod", "alone", "Scheduled", 1),
		about("d", "Pod", "g", "Scheduled", 1),
		about("d", "PodGang", "g", "Created", 1),
		about("d", "PodGroup", "g-0", "Placed", 1),
		about("elsewhere", "Pod", "g-0", "Scheduled", 1),
	}
	want := []*History{{Namespace: "d", Gang: "g", Events: []Event{
		{Kind: "PodGang", Name: "made-for", Reason: "Created", Last: minute(0), Count: 1},
		{Kind: "PodGroup", Name: "g", Reason: "Infeasible", Note: "no rack has room", Warning: true, Last: minute(1), Count: 1},
		{Kind: "PodGroup", Name: "g", Reason: "Placed", Last: minute(2), Count: 1},
		{Kind: "Pod", Name: "g-0", Reason: "Scheduled", Last: minute(3), Count: 1},
	}}}
	seen, err := Of(t.Context(), cluster, Question{})
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want, seen.Histories), "of all gangs (-want +got)")
	told := HistoryOf(cluster, cluster.Events, gang.Key{Namespace: "d", Name: "g"})
	assert.Empty(t, cmp.Diff(want[0], told), "of one (-want +got)")
	assert.Nil(t, HistoryOf(cluster, cluster.Events, gang.Key{Namespace: "d", Name: "gone"}), "of one that is not there")
	none := HistoryOf(cluster, nil, gang.Key{Namespace: "d", Name: "g"})
	assert.Empty(t, cmp.Diff(&History{Namespace: "d", Gang: "g", Events: []Event{}}, none),
		"without events (-want +got)")
	if some, err := Of(t.Context(), cluster, Question{Namespace: "other"}); err != nil || some.Histories != nil {
		t.Errorf("error %v; another namespace has %+v", err, some.Histories)
	}
}

func TestWhenAndHowOftenSomethingHappened(t *testing.T) {
	first := minute(1)
	for name, c := range map[string]struct {
		event *corev1.Event
		want  Event
	}{
		"once": {about("d", "Pod", "p", "R", 1), Event{Last: minute(1), Count: 1}},
		"counted by the older API": {
			about("d", "Pod", "p", "R", 1, func(event *corev1.Event) { event.Count, event.LastTimestamp = 7, minute(9) }),
			Event{First: &first, Last: minute(9), Count: 7},
		},
		"once by the newer API": {
			&corev1.Event{EventTime: metav1.NewMicroTime(minute(1).Time)}, Event{Last: minute(1), Count: 1},
		},
		"a series of the newer API": {
			&corev1.Event{
				EventTime: metav1.NewMicroTime(minute(1).Time),
				Series:    &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(minute(4).Time)},
			},
			Event{First: &first, Last: minute(4), Count: 3},
		},
		"no time but that of the object": {
			&corev1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: minute(2)}}, Event{Last: minute(2), Count: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := eventOf(c.event)
			got.Kind, got.Name, got.Reason = "", "", ""
			assert.Empty(t, cmp.Diff(c.want, got), "(-want +got)")
		})
	}
}

func TestOfTooManyEventsTheLatestAreTold(t *testing.T) {
	cluster := gangWithPods()
	for i := range mostEvents + 5 {
		cluster.Events = append(cluster.Events, about("d", "Pod", "g-0", fmt.Sprint(i), mostEvents-i))
	}
	told := HistoryOf(cluster, cluster.Events, gang.Key{Namespace: "d", Name: "g"})
	require.Len(t, told.Events, mostEvents)
	require.Equal(t, 5, told.Earlier)
	if first, last := told.Events[0].Reason, told.Events[mostEvents-1].Reason; first != fmt.Sprint(mostEvents-1) || last != "0" {
		t.Errorf("from %s to %s", first, last)
	}
}
