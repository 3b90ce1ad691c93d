package rights

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Roles are all roles of a cluster with their bindings.
type Roles struct {
	ClusterRoles        []rbacv1.ClusterRole
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	Roles               []rbacv1.Role
	RoleBindings        []rbacv1.RoleBinding
}

// Holding is a right that a service account has, from one rule of one role.
type Holding struct {
	// Role is the kind and name of the role, as "ClusterRole podgrouper".
	Role string
	Right
}

func (h Holding) String() string { return h.Role + ": " + h.Right.String() }

// Of are the rights that a service account has by its own name, one for each verb, resource and name of every rule.
// Rights of every account are left out: another cluster may not grant them.
func (r Roles) Of(namespace, name string) []Holding {
	var held []Holding
	for _, binding := range r.ClusterRoleBindings {
		if isSubject(binding.Subjects, namespace, name) {
			held = append(held, r.holdings(binding.RoleRef, "", "")...)
		}
	}
	for _, binding := range r.RoleBindings {
		if isSubject(binding.Subjects, namespace, name) {
			held = append(held, r.holdings(binding.RoleRef, binding.Namespace, binding.Namespace)...)
		}
	}
	slices.SortStableFunc(held, func(a, b Holding) int { return cmp.Compare(a.String(), b.String()) })
	return held
}

func isSubject(subjects []rbacv1.Subject, namespace, name string) bool {
	return slices.ContainsFunc(subjects, func(subject rbacv1.Subject) bool {
		return subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == namespace && subject.Name == name
	})
}

// holdings are the rights of a role, in a namespace or, if that is empty, everywhere.
func (r Roles) holdings(reference rbacv1.RoleRef, roleNamespace, namespace string) []Holding {
	var rules []rbacv1.PolicyRule
	for i := range r.ClusterRoles {
		if role := &r.ClusterRoles[i]; reference.Kind == "ClusterRole" && role.Name == reference.Name {
			rules = role.Rules
		}
	}
	for i := range r.Roles {
		if role := &r.Roles[i]; reference.Kind == "Role" && role.Name == reference.Name &&
			role.Namespace == roleNamespace {
			rules = role.Rules
		}
	}
	var held []Holding
	for _, rule := range rules {
		for _, right := range rightsOf(rule, namespace) {
			held = append(held, Holding{Role: reference.Kind + " " + reference.Name, Right: right})
		}
	}
	return held
}

// rightsOf splits a rule into rights. Rights on paths that are no resources are left out: there is no object behind
// them.
func rightsOf(rule rbacv1.PolicyRule, namespace string) []Right {
	var rights []Right
	for _, part := range validation.BreakdownRule(rule) {
		if len(part.Resources) == 0 {
			continue
		}
		right := Right{Verb: part.Verbs[0], Group: part.APIGroups[0], Resource: part.Resources[0], Namespace: namespace}
		if len(part.ResourceNames) > 0 {
			right.Name = part.ResourceNames[0]
		}
		rights = append(rights, right)
	}
	return rights
}

// grants reports whether a right suffices for a needed one, by Kubernetes' own comparison of rules.
func (h Holding) grants(needed Right) bool {
	if h.Namespace != "" && h.Namespace != needed.Namespace {
		return false
	}
	covered, _ := validation.Covers([]rbacv1.PolicyRule{h.rule()}, []rbacv1.PolicyRule{needed.rule()})
	return covered
}
