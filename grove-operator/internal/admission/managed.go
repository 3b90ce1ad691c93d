package admission

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// kubernetes are the users as which Kubernetes itself removes the dependents of deleted objects. The last one is for
// controllers without credentials of their own.
var kubernetes = []string{
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:kube-controller-manager",
}

// Users may change every managed object, as Kubernetes itself may.
type Users struct {
	// Operator is the user name of the operator.
	Operator string
	// Exempt are the user names of the configuration.
	Exempt []string
}

// Unbound reports whether a user may change and delete managed objects.
func (u Users) Unbound(name string) bool {
	return name == u.Operator || slices.Contains(u.Exempt, name) || slices.Contains(kubernetes, name)
}

// Protected reports whether an object was made from a PodCliqueSet: it has the label, and an object of the operator's
// kinds controls it.
func Protected(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil || object.GetLabels()[grovev1alpha1.LabelManagedBy] != grovev1alpha1.LabelManagedByValue {
		return false
	}
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && group.Group == grovev1alpha1.GroupName
}

// Unprotected says why every user may change a set's objects; empty if they are protected. Nil stands for a set that
// does not exist: its leftovers are not protected.
func Unprotected(set *grovev1alpha1.PodCliqueSet) string {
	switch {
	case set == nil:
		return "its PodCliqueSet does not exist"
	case set.DeletionTimestamp != nil:
		return "its PodCliqueSet is being deleted"
	case set.Annotations[grovev1alpha1.AnnotationDisableProtection] == "true":
		return "its PodCliqueSet says " + grovev1alpha1.AnnotationDisableProtection
	}
	return ""
}

// DeleteManaged says why a user may not delete a protected object; empty if they may. Pods may be deleted: users do
// so to get a new one under OnDelete, drains and preemption do so too, and the operator replaces them.
func DeleteManaged(object *unstructured.Unstructured) string {
	if object.GetKind() == "Pod" {
		return ""
	}
	return refusal(object, "it may not be deleted")
}

// UpdateManaged says why a user may not make this change of a protected object; empty if they may.
func UpdateManaged(before, after *unstructured.Unstructured) string {
	path := firstDifference("", content(before), content(after))
	if path == "" {
		return ""
	}
	return refusal(before, path+" may not be changed")
}

func refusal(object *unstructured.Unstructured, what string) string {
	return fmt.Sprintf(
		"%s %s is kept by grove-operator as PodCliqueSet %s wants it: %s. Change the PodCliqueSet, "+
			"or set its annotation %s to \"true\" meanwhile",
		object.GetKind(), object.GetName(), object.GetLabels()[grovev1alpha1.LabelPartOf], what,
		grovev1alpha1.AnnotationDisableProtection)
}
