package charts_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configuration is the ConfigMap with the configuration of a program; nil if it is configured by flags.
func configuration(objects []*unstructured.Unstructured, program string) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == "ConfigMap" && strings.HasPrefix(object.GetName(), program+"-config") {
			return object
		}
	}
	return nil
}

// mounted is the only ConfigMap that the pods of a chart mount.
func mounted(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	for _, volume := range typed[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.Volumes {
		if volume.ConfigMap != nil {
			return volume.ConfigMap.Name
		}
	}
	t.Fatal("the pods mount no ConfigMap")
	return ""
}

// A manual edit of a configuration would have no effect until some pod starts.
func TestConfigurationsAreImmutableAndNamedAfterTheirContent(t *testing.T) {
	for chart, other := range map[string]string{"grove-operator": "logLevel=debug",
		"kai-topology-plugin": "clientConnection.qps=7"} {
		t.Run(chart, func(t *testing.T) {
			names := map[string]bool{}
			for _, values := range [][]string{nil, {"podLabels.team=a"}, {other}} {
				objects := withoutKinds(t, chart, values...)
				file := typed[corev1.ConfigMap](t, []*unstructured.Unstructured{configuration(objects, chart)},
					"ConfigMap")[0]
				if file.Immutable == nil || !*file.Immutable {
					t.Errorf("%s can be edited", file.Name)
				}
				if at := mounted(t, objects); at != file.Name {
					t.Errorf("the pods mount %s, not %s", at, file.Name)
				}
				names[file.Name] = true
			}
			if len(names) != 2 {
				t.Errorf("%v: want another name for another content, and for nothing else", names)
			}
		})
	}
}
