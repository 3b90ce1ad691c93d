package charts_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
)

// rendered are the objects of a chart with values.
func rendered(t *testing.T, chart string, set ...string) []*unstructured.Unstructured {
	t.Helper()
	var arguments []string
	for _, value := range set {
		arguments = append(arguments, "--set", value)
	}
	return renderedBy(t, chart, arguments...)
}

// withoutKinds is rendered without the CRDs, which are most of a chart and take most of the time.
func withoutKinds(t *testing.T, chart string, set ...string) []*unstructured.Unstructured {
	t.Helper()
	return rendered(t, chart, append(slices.Clone(set), noKinds(chart)...)...)
}

// noKinds are the values of a chart that leave its CRDs out.
func noKinds(chart string) (set []string) {
	for _, of := range []string{"dynamo-operator", "grove-operator", "kai-topology-plugin"} {
		switch chart {
		case of:
			set = append(set, "crds.install=false")
		case "packtree":
			set = append(set, of+".crds.install=false")
		}
	}
	return set
}

// known are earlier results of renderedBy: several tests look at the same objects, which none changes.
var known = map[string][]*unstructured.Unstructured{}

// renderedBy are the objects of a chart with further arguments of helm.
func renderedBy(t *testing.T, chart string, further ...string) []*unstructured.Unstructured {
	t.Helper()
	key := chart + " " + strings.Join(further, " ")
	if objects, is := known[key]; is {
		return objects
	}
	arguments := append([]string{"template", "release", chartPath(t, chart), "--namespace", namespace}, further...)
	documents, findings := manifests.Parse(chart, []byte(mustHelm(t, os.DevNull, arguments...)))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		objects = append(objects, document.Object)
	}
	known[key] = objects
	return objects
}

// typed are the objects of one kind, as its type.
func typed[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var all []T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &one,
			true); err != nil {
			t.Fatalf("%s %s: %v", kind, object.GetName(), err)
		}
		all = append(all, one)
	}
	return all
}

func namesOf(objects []*unstructured.Unstructured, kind string) []string {
	var names []string
	for _, object := range objects {
		if object.GetKind() == kind {
			names = append(names, object.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func TestKAIsKindsComeOnRequest(t *testing.T) {
	for _, chart := range []string{"grove-operator", "podgrouper"} {
		t.Run(chart, func(t *testing.T) {
			got := namesOf(rendered(t, chart, "crds.kai=true"), "CustomResourceDefinition")
			want := slices.Concat(charts[chart].definitions, charts["kai-topology-plugin"].definitions)
			slices.Sort(want)
			assert.Empty(t, cmp.Diff(want, got), "CRDs (-want +got)")
		})
	}
}

// A program outside of the cluster is only reached if every single webhook and conversion has the URL.
func TestEveryWebhookFollowsURLAndCA(t *testing.T) {
	const url, authority = "https://127.0.0.1:9443", "Q0E="
	for _, chart := range []string{"dynamo-operator", "grove-operator", "podgrouper"} {
		t.Run(chart, func(t *testing.T) {
			configs := clientConfigs(rendered(t, chart, "webhook.url="+url, "webhook.caBundle="+authority))
			if len(configs) == 0 {
				t.Fatal("the chart has no webhook")
			}
			for _, config := range configs {
				address, _ := config["url"].(string)
				if !strings.HasPrefix(address, url+"/") || config["caBundle"] != authority || config["service"] != nil {
					t.Errorf("clientConfig %v does not point at %s with the given CA", config, url)
				}
			}
		})
	}
}

// clientConfigs collects the fields by which the API server finds its webhooks, in any object.
func clientConfigs(objects []*unstructured.Unstructured) []map[string]any {
	var found []map[string]any
	for _, object := range objects {
		webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, webhook := range webhooks {
			config, _, _ := unstructured.NestedMap(webhook.(map[string]any), "clientConfig")
			found = append(found, config)
		}
		if config, has, _ := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook",
			"clientConfig"); has {
			found = append(found, config)
		}
	}
	return found
}
