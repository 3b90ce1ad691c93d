package charts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"packtree.dev/shared/manifests"
)

func ofKind(t *testing.T, objects []*unstructured.Unstructured, kind string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind {
			return object
		}
	}
	t.Fatalf("the chart makes no %s", kind)
	return nil
}

// webhooks are the entries of a configuration by name.
func webhooks(configuration *unstructured.Unstructured) map[string]map[string]any {
	found := map[string]map[string]any{}
	entries, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for _, entry := range entries {
		fields := entry.(map[string]any)
		found[fields["name"].(string)] = fields
	}
	return found
}

func TestGroveOperatorIsHighlyAvailableWithItsValues(t *testing.T) {
	values := filepath.Join(chartPath(t, "grove-operator"), "values-ha.yaml")
	text := mustHelm(t, os.DevNull, "template", "release", chartPath(t, "grove-operator"), "--namespace", namespace, "--values", values)
	documents, findings := manifests.Parse("grove-operator", []byte(text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		objects = append(objects, document.Object)
	}
	deployment, budget := ofKind(t, objects, "Deployment"), ofKind(t, objects, "PodDisruptionBudget")
	replicas, _, _ := unstructured.NestedFieldNoCopy(deployment.Object, "spec", "replicas")
	unavailable, _, _ := unstructured.NestedFieldNoCopy(budget.Object, "spec", "maxUnavailable")
	if diff := cmp.Diff([]string{"2", "1"}, []string{fmt.Sprint(replicas), fmt.Sprint(unavailable)}); diff != "" {
		t.Errorf("replicas, and pods that may be unavailable (-want +got):\n%s", diff)
	}
	of, _, _ := unstructured.NestedStringMap(budget.Object, "spec", "selector", "matchLabels")
	selected, _, _ := unstructured.NestedStringMap(deployment.Object, "spec", "selector", "matchLabels")
	if diff := cmp.Diff(selected, of); diff != "" {
		t.Errorf("the budget's pods are not the Deployment's (-deployment +budget):\n%s", diff)
	}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		for name, entry := range webhooks(ofKind(t, objects, kind)) {
			if entry["failurePolicy"] != "Fail" {
				t.Errorf("webhook %s: failurePolicy %v", name, entry["failurePolicy"])
			}
		}
	}
	config, _, _ := unstructured.NestedString(ofKind(t, objects, "ConfigMap").Object, "data", "config.yaml")
	var parsed map[string]any
	if err := yaml.Unmarshal([]byte(config), &parsed); err != nil {
		t.Fatal(err)
	}
	if elects, _, _ := unstructured.NestedBool(parsed, "leaderElection", "enabled"); !elects {
		t.Errorf("no leader is elected:\n%s", config)
	}
	if names := namesOf(rendered(t, "grove-operator"), "PodDisruptionBudget"); len(names) > 0 {
		t.Errorf("one pod has a PodDisruptionBudget: %v", names)
	}
}

func TestTheAuthorizerIsCalledOnlyWhereItIsEnabled(t *testing.T) {
	const name = "authorize.grove.io"
	if webhooks(ofKind(t, rendered(t, "grove-operator"), "ValidatingWebhookConfiguration"))[name] != nil {
		t.Error("the webhook stands there although the authorizer is off")
	}
	entry := webhooks(ofKind(t, rendered(t, "grove-operator", "config.authorizer.enabled=true"), "ValidatingWebhookConfiguration"))[name]
	if entry == nil {
		t.Fatal("the webhook is missing although the authorizer is on")
	}
	selector, _, _ := unstructured.NestedStringMap(entry, "objectSelector", "matchLabels")
	want := []any{"Ignore", map[string]string{"app.kubernetes.io/managed-by": "grove-operator"}}
	if diff := cmp.Diff(want, []any{entry["failurePolicy"], selector}); diff != "" {
		t.Errorf("failurePolicy and objectSelector (-want +got):\n%s", diff)
	}
}

func TestCertManagerFindsTheWebhookConfigurations(t *testing.T) {
	objects := rendered(t, "grove-operator", "webhook.certMode=manual", "webhook.annotations.cert-manager\\.io/inject-ca-from=a/b")
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if got := ofKind(t, objects, kind).GetAnnotations()["cert-manager.io/inject-ca-from"]; got != "a/b" {
			t.Errorf("%s: annotation %q", kind, got)
		}
	}
	if names := namesOf(objects, "Secret"); len(names) > 0 {
		t.Errorf("the chart makes Secrets that somebody else is to make: %v", names)
	}
}

// nodeVerbs are what a ClusterRole lets do with nodes.
func nodeVerbs(role *unstructured.Unstructured) []any {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	var verbs []any
	for _, rule := range rules {
		fields := rule.(map[string]any)
		if resources, _ := fields["resources"].([]any); slices.Contains(resources, any("nodes")) {
			granted, _ := fields["verbs"].([]any)
			verbs = append(verbs, granted...)
		}
	}
	return verbs
}

func TestNodesAreReadOnlyWhereTopologyAwarenessIsOn(t *testing.T) {
	if diff := cmp.Diff([]any{"get", "list", "watch"}, nodeVerbs(ofKind(t, rendered(t, "grove-operator"), "ClusterRole"))); diff != "" {
		t.Errorf("verbs on nodes (-want +got):\n%s", diff)
	}
	off := rendered(t, "grove-operator", "config.topologyAwareScheduling.enabled=false")
	if verbs := nodeVerbs(ofKind(t, off, "ClusterRole")); verbs != nil {
		t.Errorf("verbs on nodes with topology awareness off: %v", verbs)
	}
}
