package gangstate

import (
	corev1 "k8s.io/api/core/v1"
)

// Placement is a pod and the node that it is to go to.
type Placement struct {
	Pod  *corev1.Pod
	Node string
	// Place has the labels by which the node stands in the topologies of the gang, as they were when it was chosen.
	Place Place
	// Turn is set where pods have to be put on their nodes one after the other: those with a lower turn go first.
	Turn int
}

// Place is where a node stands in some topologies: the labels that name its domains.
type Place []label

type label struct {
	key, value string
	present    bool
}

// PlaceOf reads the labels of the given keys.
func PlaceOf(keys []string, labels map[string]string) Place {
	place := make(Place, len(keys))
	for i, key := range keys {
		value, present := labels[key]
		place[i] = label{key: key, value: value, present: present}
	}
	return place
}

// Is reports whether a node with these labels stands there.
func (p Place) Is(labels map[string]string) bool {
	for _, one := range p {
		if value, present := labels[one.key]; present != one.present || value != one.value {
			return false
		}
	}
	return true
}
