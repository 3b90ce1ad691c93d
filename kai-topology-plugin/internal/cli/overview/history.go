package overview

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// mostEvents is how many events of a gang are listed, the latest: a pod that restarts over and over has any number of
// them.
const mostEvents = 300

// History is what events say of a gang.
type History struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup.
	Gang string `json:"gang"`
	// Events are in the order in which they happened last. Earlier ones are left out, if there are too many.
	Events  []Event `json:"events"`
	Earlier int     `json:"earlier,omitempty"`
}

// Event is something that happened to the PodGroup of a gang, to the object that the PodGroup was made for, or to a
// pod.
type Event struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// First is when it happened first, where that is known and it happened more than once; Last when it did last.
	First *metav1.Time `json:"first,omitempty"`
	Last  metav1.Time  `json:"last"`
	Count int32        `json:"count"`
	// Warning is false for what is as it should be.
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason"`
	Note    string `json:"note,omitempty"`
}

// object is the object that an event is about.
type object struct{ namespace, kind, name string }

// events are known by their object.
type events map[object][]*corev1.Event

func eventsOf(all []*corev1.Event) events {
	about := events{}
	for _, event := range all {
		regarding := object{event.InvolvedObject.Namespace, event.InvolvedObject.Kind, event.InvolvedObject.Name}
		about[regarding] = append(about[regarding], event)
	}
	return about
}

// HistoryOf returns the history of one gang, given the events of its namespace; nil if there is no such gang.
func HistoryOf(cluster *inventory.Inventory, all []*corev1.Event, key gang.Key) *History {
	podGroup, err := cluster.PodGroup(key)
	if err != nil {
		return nil
	}
	return eventsOf(all).of(podGroup, cluster.Members()[key])
}

// histories returns those of the gangs that events say something about.
func histories(cluster *inventory.Inventory, shows func(gang.Key) bool) (found []*History) {
	if len(cluster.Events) == 0 {
		return nil
	}
	about, members := eventsOf(cluster.Events), cluster.Members()
	for _, podGroup := range cluster.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		if !shows(key) {
			continue
		}
		if history := about.of(podGroup, members[key]); len(history.Events) > 0 {
			found = append(found, history)
		}
	}
	return found
}

func (e events) of(podGroup *scheduling.PodGroup, pods []*corev1.Pod) *History {
	history := &History{Namespace: podGroup.Namespace, Gang: podGroup.Name, Events: []Event{}}
	objects := []object{{podGroup.Namespace, "PodGroup", podGroup.Name}}
	for _, owner := range podGroup.OwnerReferences {
		objects = append(objects, object{podGroup.Namespace, owner.Kind, owner.Name})
	}
	for _, pod := range pods {
		objects = append(objects, object{pod.Namespace, "Pod", pod.Name})
	}
	for _, about := range objects {
		for _, event := range e[about] {
			history.Events = append(history.Events, eventOf(event))
		}
	}
	slices.SortStableFunc(history.Events, func(a, b Event) int { return a.Last.Compare(b.Last.Time) })
	history.Earlier = max(0, len(history.Events)-mostEvents)
	history.Events = history.Events[history.Earlier:]
	return history
}

// eventOf reads what recorders of either API write: the newer one has a series where the older one has a count.
func eventOf(event *corev1.Event) Event {
	made := Event{
		Kind: event.InvolvedObject.Kind, Name: event.InvolvedObject.Name, Count: max(1, event.Count),
		Warning: event.Type == corev1.EventTypeWarning, Reason: event.Reason, Note: event.Message,
	}
	first := firstSet(event.FirstTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time)
	last := event.LastTimestamp.Time
	if event.Series != nil {
		made.Count = max(made.Count, event.Series.Count)
		if observed := event.Series.LastObservedTime.Time; observed.After(last) {
			last = observed
		}
	}
	if last.Before(first) {
		last = first
	}
	made.Last = metav1.NewTime(last)
	if made.Count > 1 && first.Before(last) {
		made.First = &metav1.Time{Time: first}
	}
	return made
}

// firstSet returns the first of some times that is set.
func firstSet(times ...time.Time) time.Time {
	for _, at := range times {
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}
