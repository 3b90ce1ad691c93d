package programs

import rbacv1 "k8s.io/api/rbac/v1"

// KWOKRules are the rights that KWOK needs with stages from a file: those of its own manifests, without its CRDs.
func KWOKRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/status", "pods/status"},
			Verbs: []string{"patch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch", "patch",
			"update", "delete"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"},
			Verbs: []string{"create", "patch", "update"}},
		// A lease per node is its heartbeat.
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
			Verbs: []string{"get", "list", "watch", "create", "patch", "update"}},
	}
}
