package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"packtree.dev/e2e/examples"
	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
)

func directory(t *testing.T) string {
	t.Helper()
	found, err := examples.Directory()
	require.NoError(t, err)
	return found
}

func TestExamplesHaveNoUnknownField(t *testing.T) {
	kinds := map[string]func() any{
		"Node":                  func() any { return &corev1.Node{} },
		"Pod":                   func() any { return &corev1.Pod{} },
		"Job":                   func() any { return &batchv1.Job{} },
		"PriorityClass":         func() any { return &schedulingv1.PriorityClass{} },
		"DynamoGraphDeployment": func() any { return &dynamov1alpha1.DynamoGraphDeployment{} },
		"PodCliqueSet":          func() any { return &grovev1alpha1.PodCliqueSet{} },
		"ClusterTopology":       func() any { return &grovev1alpha1.ClusterTopology{} },
		"Topology":              func() any { return &kaiv1alpha1.Topology{} },
		"PodGroup":              func() any { return &schedulingv2alpha2.PodGroup{} },
	}
	documents, findings := manifests.Read([]string{directory(t)}, nil)
	for _, document := range documents {
		kind, known := kinds[document.Object.GetKind()]
		if !known {
			t.Errorf("%s: no example should need a %s", document.Source, document.Object.GetKind())
			continue
		}
		findings = append(findings, document.DecodeInto(kind())...)
	}
	for _, finding := range findings {
		t.Error(finding)
	}
}

func TestReadmeNamesEveryExample(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(directory(t), "README.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(directory(t), "*.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		if name := filepath.Base(file); !strings.Contains(string(readme), "["+name+"]("+name+")") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}

func TestLoad(t *testing.T) {
	all, err := examples.Load(directory(t), "somewhere")
	require.NoError(t, err)
	for i, example := range all {
		if last := i == len(all)-1; example.Fits == last {
			t.Errorf("%s: only the last example is the one that cannot fit", example.Name)
		}
		for _, object := range example.Objects {
			namespaced := object.GetKind() != "ClusterTopology" && object.GetKind() != "Topology" &&
				object.GetKind() != "PriorityClass"
			if namespaced != (object.GetNamespace() == "somewhere") {
				t.Errorf("%s: %s %s is in namespace %q", example.Name, object.GetKind(), object.GetName(),
					object.GetNamespace())
			}
		}
	}
}
