// Package children builds the objects of a PodCliqueSet except gangs and pods: PodCliques, PodCliqueScalingGroups,
// Services, autoscalers, the pods' service account, and the ResourceClaims that they share.
package children

import (
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// metadata is the metadata of every child. Own labels win over the user's, because they are used to find children.
func metadata(set *grovev1alpha1.PodCliqueSet, name, component string, user, own map[string]string) metav1.ObjectMeta {
	labels := map[string]string{}
	maps.Copy(labels, user)
	maps.Copy(labels, own)
	maps.Copy(labels, map[string]string{
		grovev1alpha1.LabelName:      labelValue(name),
		grovev1alpha1.LabelManagedBy: grovev1alpha1.LabelManagedByValue,
		grovev1alpha1.LabelPartOf:    set.Name,
		grovev1alpha1.LabelComponent: component,
	})
	return metav1.ObjectMeta{Name: name, Namespace: set.Namespace, Labels: labels}
}

// labelValue makes a label value from a name. Names of Roles have a colon, which a label value may not have.
func labelValue(name string) string {
	value := []rune(name)
	for i, r := range value {
		if r == ':' {
			value[i] = '.'
		}
	}
	return string(value)
}

// ownedBy returns the owner reference of a child; none for an owner that does not come from a cluster.
func ownedBy(owner metav1.Object, kind schema.GroupVersionKind) []metav1.OwnerReference {
	if owner.GetUID() == "" {
		return nil
	}
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
}

func ownedBySet(set *grovev1alpha1.PodCliqueSet) []metav1.OwnerReference {
	return ownedBy(set, grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))
}

func index(i int32) string {
	return strconv.Itoa(int(i))
}
