// Package grouping has the types of groupers: the workload that they are given, and the groups that they make of its
// pods.
package grouping

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Owner is an object that owns pods, directly or through others.
type Owner struct {
	metav1.Object
	// Kind is group, version and kind of the object.
	Kind schema.GroupVersionKind
	// Content is the whole object, or nil if only its metadata is known. It is read only.
	Content Fields
	// Outline reports whether the object was not read: only its name and uid are known.
	Outline bool
	// Unreadable says why the object could not be read and what would help, if an admin has to mend that; else empty.
	Unreadable string
}

// Workload is an owner and its pods, which make one PodGroup.
type Workload struct {
	// Owner is the object after which the PodGroup is named, and with which it is deleted.
	Owner Owner
	// Above are the owners of Owner, the nearest first.
	Above []Owner
	// Below are the owners between the pod from which the workload was found and Owner, the nearest to the pod first.
	Below []Owner
	// Namespace of the pods: Owner can be cluster-scoped. Empty means the owner's.
	Namespace string
	// Pods are the known pods of the workload, in any order: at least all that have a label for the PodGroup. There may
	// be none yet; the groups must not depend on which ones there are.
	Pods []*corev1.Pod
}

// Upwards returns the workload's owner and those above it, the nearest first.
func (w Workload) Upwards() []Owner {
	return append([]Owner{w.Owner}, w.Above...)
}

// Grouper decides how the pods of one kind of workload are grouped. Its functions are pure.
type Grouper struct {
	// Group returns the groups of the workload's pods.
	Group func(Workload) Group
	// Leaf returns the name of the group that a pod of the workload belongs to, the empty name for the root, and false
	// as long as that is not known. Nil means that all pods belong to the root.
	Leaf func(Workload, *corev1.Pod) (string, bool)
	// Index returns the index of a pod in its leaf, counted from 0, and false as long as it is not known. Nil means
	// that no leaf is Indexed.
	Index func(Workload, *corev1.Pod) (int32, bool)
	// Apart reports whether a pod below the workload is no part of its gang, because it is made when the gang is gone:
	// its workload is an owner in between. Nil means that there are no such pods.
	Apart func(*corev1.Pod) bool
}

// LeafOf returns the name of the group that a pod belongs to.
func (g Grouper) LeafOf(w Workload, pod *corev1.Pod) (string, bool) {
	if g.Leaf == nil {
		return "", true
	}
	return g.Leaf(w, pod)
}
