package children

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// ServiceAccount is the account with which pods of a set may read each other.
func ServiceAccount(set *grovev1alpha1.PodCliqueSet) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metadata(set, layout.ServiceAccount(set.Name), grovev1alpha1.ComponentServiceAccount, nil, nil),
	}
	account.OwnerReferences = ownedBySet(set)
	return account
}

// Role allows accounts to read pods: by that a pod knows that the pods which it starts after are ready. A rule cannot
// be narrowed to labels, but the program reads only the pods with the right labels.
func Role(set *grovev1alpha1.PodCliqueSet) *rbacv1.Role {
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metadata(set, layout.Role(set.Name), grovev1alpha1.ComponentRole, nil, nil),
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""},
			Resources: []string{"pods"},
			Verbs:     []string{"list", "watch"},
		}},
	}
	role.OwnerReferences = ownedBySet(set)
	return role
}

// RoleBinding binds the Role to the set's account, and to the user's accounts under which pods of the set wait for
// others. PodCliques are the existing ones.
func RoleBinding(set *grovev1alpha1.PodCliqueSet, podCliques []*grovev1alpha1.PodClique) *rbacv1.RoleBinding {
	binding := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metadata(set, layout.Role(set.Name), grovev1alpha1.ComponentRoleBinding, nil, nil),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: layout.Role(set.Name)},
	}
	for _, account := range layout.Accounts(set, podCliques) {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: set.Namespace,
		})
	}
	binding.OwnerReferences = ownedBySet(set)
	return binding
}
