// Package owners finds the owners above a pod, up to the topmost one.
package owners

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
)

// PodGangKind is the kind to which a pod of Grove belongs by its label and not by an owner reference.
var PodGangKind = grovescheduler.GroupVersion.WithKind("PodGang")

// Reference is an owner in the words of the object below it.
type Reference struct {
	// Kind is group, version and kind of the owner.
	Kind schema.GroupVersionKind
	// Namespace of the object below; the owner may be cluster-scoped nevertheless.
	Namespace string
	// Name is the owner's name.
	Name string
	// UID is empty if the object below names its owner by name only.
	UID types.UID
}

// withoutUID is the reference for comparisons: manifests that were never in a cluster have no uids.
func (r Reference) withoutUID() Reference {
	r.UID = ""
	return r
}

// String names the owner for people.
func (r Reference) String() string {
	if r.Namespace == "" {
		return r.Kind.Kind + " " + r.Name
	}
	return fmt.Sprintf("%s %s/%s", r.Kind.Kind, r.Namespace, r.Name)
}

// ErrMissing is returned by a Lookup if no such object exists, or another one of the same name.
var ErrMissing = errors.New("owner does not exist")

// UnreadableError is returned by a Lookup if the object may exist, but may not be read or is of an unknown kind.
type UnreadableError struct {
	// Remedy says why it cannot be read and what would help; empty if nothing is wrong.
	Remedy string
}

// Error implements error.
func (e UnreadableError) Error() string { return "owner cannot be read: " + e.Remedy }

// Lookup returns an owner, or ErrMissing, or an UnreadableError; any other error ends the walk.
type Lookup func(Reference) (grouping.Owner, error)

// Chain are the owners above a pod.
type Chain struct {
	// Owners are the owners that were found, the nearest first.
	Owners []grouping.Owner
	// Missing is the owner that ended the walk because it does not exist, or nil. Its dependents are about to be
	// deleted.
	Missing *Reference
	// Unreadable is the owner that ended the walk because it cannot be read, or nil. It is the last of Owners, with the
	// fields of its reference.
	Unreadable *Reference
	// Cycle is the owner that ended the walk because it is in the chain already, or nil.
	Cycle *Reference
}

// Walk follows the owners of a pod. From an object with several owners it goes to the controller, or else to the first
// one. From a pod of Grove it goes to the PodGang first.
func Walk(pod *corev1.Pod, lookup Lookup) (Chain, error) {
	start := Reference{Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespace: pod.Namespace, Name: pod.Name}
	return walk(start, OfPod(pod), lookup)
}

// Above follows the owners of an owner, which does not become part of the chain itself.
func Above(owner grouping.Owner, lookup Lookup) (Chain, error) {
	start := Reference{Kind: owner.Kind, Namespace: owner.GetNamespace(), Name: owner.GetName()}
	return walk(start, ownerOf(owner), lookup)
}

func walk(start Reference, next *Reference, lookup Lookup) (Chain, error) {
	var chain Chain
	seen := sets.New(start.withoutUID())
	for next != nil {
		if seen.Has(next.withoutUID()) {
			chain.Cycle = next
			return chain, nil
		}
		seen.Insert(next.withoutUID())
		owner, err := lookup(*next)
		var unreadable UnreadableError
		switch {
		case errors.Is(err, ErrMissing):
			chain.Missing = next
			return chain, nil
		case errors.As(err, &unreadable):
			chain.Unreadable = next
			chain.Owners = append(chain.Owners, outline(*next, unreadable.Remedy))
			return chain, nil
		case err != nil:
			return Chain{}, fmt.Errorf("reading owner %s: %w", next, err)
		}
		chain.Owners = append(chain.Owners, owner)
		next = ownerOf(owner)
	}
	return chain, nil
}

// OfPod returns the first owner on the walk from a pod, or nil for a pod without an owner.
func OfPod(pod *corev1.Pod) *Reference {
	if gang := pod.Labels[grove.LabelPodGang]; gang != "" {
		return &Reference{Kind: PodGangKind, Namespace: pod.Namespace, Name: gang}
	}
	return ownerOf(pod)
}

func ownerOf(object metav1.Object) *Reference {
	references := object.GetOwnerReferences()
	if len(references) == 0 {
		return nil
	}
	chosen := &references[0]
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		chosen = controller
	}
	return &Reference{
		Kind:      schema.FromAPIVersionAndKind(chosen.APIVersion, chosen.Kind),
		Namespace: object.GetNamespace(),
		Name:      chosen.Name,
		UID:       chosen.UID,
	}
}

// outline is an owner with nothing known but its reference.
func outline(reference Reference, remedy string) grouping.Owner {
	return grouping.Owner{
		Kind:       reference.Kind,
		Outline:    true,
		Unreadable: remedy,
		Object: &metav1.ObjectMeta{
			Namespace: reference.Namespace,
			Name:      reference.Name,
			UID:       reference.UID,
		},
	}
}
