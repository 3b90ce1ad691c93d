package charts_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestViewersMayOnlyRead(t *testing.T) {
	roles := typed[rbacv1.ClusterRole](t, withoutKinds(t, "kai-topology-plugin"), "ClusterRole")
	at := slices.IndexFunc(roles, func(role rbacv1.ClusterRole) bool { return role.Name == "packtree-viewer" })
	if at < 0 {
		t.Fatal("there is no ClusterRole packtree-viewer")
	}
	for _, rule := range roles[at].Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "watch"}, verb) {
				t.Errorf("a viewer may %s %v", verb, rule.Resources)
			}
		}
	}
}
