package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/grouping"
)

// groupCase is a workload and its PodGroup.
type groupCase struct {
	// Manifest is the workload's owner.
	Manifest string
	// Want is the spec of the PodGroup.
	Want string
	// Expected are the expected pods in the PodGroup's annotation, if they differ from the minima.
	Expected string
	// Problems are the mistakes that are found in the workload.
	Problems []string
}

// checkGroups checks the groups of each case, and that the API server would take them.
func checkGroups(t *testing.T, grouper grouping.Grouper, cases map[string]groupCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			group := grouper.Group(grouping.Workload{Owner: owner(t, c.Manifest)})
			var want scheduling.PodGroupSpec
			if err := yaml.UnmarshalStrict([]byte(c.Want), &want); err != nil {
				t.Fatal(err)
			}
			got := group.PodGroupSpec()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.Expected, group.Expects().String()); diff != "" {
				t.Errorf("expected pods (-want +got):\n%s", diff)
			}
			var problems []string
			for _, problem := range group.Problems {
				problems = append(problems, problem.Error())
			}
			if diff := cmp.Diff(c.Problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if errs := podgrouptree.ValidateCreate(&got); len(errs) > 0 {
				t.Errorf("the PodGroup would be turned down: %v", errs)
			}
		})
	}
}

func owner(t *testing.T, manifest string) grouping.Owner {
	t.Helper()
	object := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	if err := object.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return grouping.Owner{Object: object, Kind: object.GroupVersionKind(), Content: object.Object}
}

// checkLeaf checks to which group a pod with these labels belongs, whatever its workload; an empty want means to none.
func checkLeaf(t *testing.T, grouper grouping.Grouper, labels map[string]string, want string) {
	t.Helper()
	checkLeafIn(t, grouper, "{apiVersion: example.com/v1, kind: Any, metadata: {name: any}}", labels, want)
}

// checkLeafIn checks to which group of the workload a pod with these labels belongs; an empty want means to none.
func checkLeafIn(t *testing.T, grouper grouping.Grouper, manifest string, labels map[string]string, want string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "default", Labels: labels}}
	got, known := grouper.Leaf(grouping.Workload{Owner: owner(t, manifest)}, pod)
	if known != (want != "") || known && got != want {
		t.Errorf("a pod with %v belongs to %q (%t), want %q", labels, got, known, want)
	}
}
