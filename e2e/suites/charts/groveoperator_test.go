package charts_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func TestTheAuthorizerIsCalledOnlyWhereItIsEnabled(t *testing.T) {
	const name = "authorize.grove.io"
	if webhooks(ofKind(t, withoutKinds(t, "grove-operator"), "ValidatingWebhookConfiguration"))[name] != nil {
		t.Error("the webhook stands there although the authorizer is off")
	}
	entry := webhooks(ofKind(t, withoutKinds(t, "grove-operator", "config.authorizer.enabled=true"),
		"ValidatingWebhookConfiguration"))[name]
	if entry == nil {
		t.Fatal("the webhook is missing although the authorizer is on")
	}
	selector, _, _ := unstructured.NestedStringMap(entry, "objectSelector", "matchLabels")
	want := []any{"Ignore", map[string]string{"app.kubernetes.io/managed-by": "grove-operator"}}
	assert.Empty(t, cmp.Diff(want, []any{entry["failurePolicy"], selector}),
		"failurePolicy and objectSelector (-want +got)")
}

// nodeVerbs are the verbs that a ClusterRole allows on nodes.
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
	assert.Empty(t, cmp.Diff([]any{"list", "watch"},
		nodeVerbs(ofKind(t, withoutKinds(t, "grove-operator"), "ClusterRole"))), "verbs on nodes (-want +got)")
	off := withoutKinds(t, "grove-operator", "config.topologyAwareScheduling.enabled=false")
	if verbs := nodeVerbs(ofKind(t, off, "ClusterRole")); verbs != nil {
		t.Errorf("verbs on nodes with topology awareness off: %v", verbs)
	}
}

// grove-operator refuses such levels at its start, long after the upgrade has succeeded.
func TestLevelsThatTheProgramWouldTurnDownAreRefused(t *testing.T) {
	const levels = "config.topologyAwareScheduling.levels"
	first := levels + "[0].domain=zone," + levels + "[0].key=example.com/zone,"
	for name, test := range map[string]struct{ set, want string }{
		"none": {levels + "=null", "levels is empty"},
		"one domain twice": {first + levels + "[1].domain=zone," + levels + "[1].key=example.com/rack",
			"levels[1].domain is zone, which levels[0] has"},
		"one label twice": {first + levels + "[1].domain=rack," + levels + "[1].key=example.com/zone",
			"levels[1].key is example.com/zone, which levels[0] has"},
		"two that are apart": {first + levels + "[1].domain=rack," + levels + "[1].key=example.com/rack", ""},
		"none, switched off": {levels + "=null,config.topologyAwareScheduling.enabled=false", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, err := helm(t, os.DevNull, "template", "release", chartPath(t, "grove-operator"),
				"--set", test.set)
			if (err != nil) != (test.want != "") || !strings.Contains(problems, test.want) {
				t.Errorf("got %v: %s, want %q", err, problems, test.want)
			}
		})
	}
}
