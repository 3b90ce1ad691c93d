package rights_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// docs/security.md says of each account what it cannot do outside of its namespace, whatever its token is used for. In
// its namespace it reads and writes no Secret but that of its webhook.
func TestWhatAnAccountCannotDo(t *testing.T) {
	reads, writes := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
	all := slices.Concat(reads, writes)
	everywhere := map[string][]string{
		"secrets": all, "nodes": writes, "nodes/status": writes, "clusterroles": all, "clusterrolebindings": all,
		"roles": {"bind", "escalate"}, "serviceaccounts/token": writes, "users": {"impersonate"}, "pods/exec": all,
	}
	for chart, more := range map[string]map[string][]string{
		"dynamo-operator":     {"pods": writes, "nodes": reads},
		"grove-operator":      {"configmaps": all},
		"podgrouper":          {"pods": {"create", "delete"}, "nodes": reads, "configmaps": all},
		"kai-topology-plugin": {"pods": {"create"}, "configmaps": all},
	} {
		t.Run(chart, func(t *testing.T) {
			rules := rulesOf(t, chart, "ClusterRole")
			for _, forbidden := range []map[string][]string{everywhere, more} {
				for resource, verbs := range forbidden {
					for _, rule := range rules {
						concerns := slices.Contains(rule.Resources, resource) || slices.Contains(rule.Resources, "*")
						grants := func(verb string) bool { return verb == "*" || slices.Contains(verbs, verb) }
						if concerns && slices.ContainsFunc(rule.Verbs, grants) {
							t.Errorf("%s: %v", resource, rule)
						}
					}
				}
			}
			for _, rule := range rulesOf(t, chart, "Role") {
				own := []string{chart + "-webhook-cert"}
				if slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.ResourceNames, own) {
					t.Errorf("other Secrets than %v: %v", own, rule)
				}
			}
		})
	}
}

// rulesOf are the rules of a chart's roles of a kind, with its own values: a ClusterRole is granted in all namespaces.
func rulesOf(t *testing.T, chart, kind string) (rules []rbacv1.PolicyRule) {
	t.Helper()
	helm := exec.CommandContext(t.Context(), "../../bin/tools/helm", "template", "release", "../../charts/"+chart,
		"--show-only", "templates/rbac.yaml")
	helm.Stderr = os.Stderr
	made, err := helm.Output()
	require.NoError(t, err)
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(made), 4096); ; {
		var role rbacv1.ClusterRole
		switch err := decoder.Decode(&role); {
		case errors.Is(err, io.EOF):
			if len(rules) == 0 {
				t.Fatal("there are none")
			}
			return rules
		case err != nil:
			t.Fatal(err)
		case role.Kind == kind:
			rules = append(rules, role.Rules...)
		}
	}
}
