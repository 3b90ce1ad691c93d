package offline_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/golden"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/offline"
	"packtree.dev/podgrouper/internal/podgroups"
)

// TestWorkloads compares, for every folder under testdata/workloads, the PodGroups for input.yaml with podgroups.yaml,
// and the memberships of its pods with members.txt. The inputs are workloads as users write them, with the objects that
// their frameworks make.
func TestWorkloads(t *testing.T) {
	for _, folder := range workloads(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			objects, findings := offline.Render(read(t, filepath.Join(folder, "input.yaml")), podgroups.Defaults{})
			podGroups, members := groupsAndMembers(t, objects)
			golden.Equal(t, filepath.Join(folder, "podgroups.yaml"), printed(t, podGroups))
			golden.Equal(t, filepath.Join(folder, "members.txt"), strings.Join(members, ""))
			assert.Empty(t, findings, "the input is right as it is: %s", written(findings))
		})
	}
}

// TestAnyPodsInAnyOrderMakeTheSameGroups: a PodGroup is the same for any subset of the pods, in any order.
func TestAnyPodsInAnyOrderMakeTheSameGroups(t *testing.T) {
	for _, folder := range workloads(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			// Topologies do not change the groups, and take most of the time.
			documents := slices.DeleteFunc(read(t, filepath.Join(folder, "input.yaml")),
				func(document manifests.Document) bool {
					return document.Object.GetKind() == "Topology"
				})
			all := rendered(t, documents)
			rapid.Check(t, func(rt *rapid.T) {
				some := rapid.Permutation(documents).Draw(rt, "order")
				some = slices.DeleteFunc(slices.Clone(some), func(document manifests.Document) bool {
					return ownsNothing(document, documents) &&
						rapid.Bool().Draw(rt, "without "+document.Object.GetName())
				})
				for name, got := range rendered(t, some) {
					require.Empty(rt, cmp.Diff(all[name], got), "%s (-of all pods +of some)", name)
				}
			})
		})
	}
}

func workloads(t *testing.T) []string {
	t.Helper()
	inputs, err := filepath.Glob("testdata/workloads/*/input.yaml")
	require.NoError(t, err, "no testdata")
	require.NotEmpty(t, inputs, "no testdata")
	for i := range inputs {
		inputs[i] = filepath.Dir(inputs[i])
	}
	return inputs
}

// rendered returns PodGroups and the memberships of pods, by name.
func rendered(t *testing.T, documents []manifests.Document) map[string]string {
	t.Helper()
	objects, _ := offline.Render(documents, podgroups.Defaults{})
	podGroups, members := groupsAndMembers(t, objects)
	found := map[string]string{}
	for _, podGroup := range podGroups {
		found[podGroup.(*scheduling.PodGroup).Name] = printed(t, []runtime.Object{podGroup})
	}
	for _, member := range members {
		name, _, _ := strings.Cut(member, ":")
		found["pod "+name] = member
	}
	return found
}

// groupsAndMembers returns the PodGroups, after validation by their schema, and a line for each pod.
func groupsAndMembers(t *testing.T, objects []runtime.Object) ([]runtime.Object, []string) {
	t.Helper()
	var podGroups []runtime.Object
	var members []string
	for _, object := range objects {
		switch object := object.(type) {
		case *scheduling.PodGroup:
			assert.Empty(t, podgrouptree.ValidateCreate(&object.Spec),
				"PodGroup %s would be turned down", object.Name)
			podGroups = append(podGroups, object)
		case *unstructured.Unstructured:
			if object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Pod") {
				members = append(members, fmt.Sprintf("%s: %s %s\n", object.GetName(),
					object.GetAnnotations()[scheduling.AnnotationPodGroupName],
					object.GetLabels()[kai.LabelSubGroupName]))
			}
		}
	}
	slices.Sort(members)
	return podGroups, members
}

// ownsNothing reports whether the document is a pod that no other object has as its owner.
func ownsNothing(document manifests.Document, all []manifests.Document) bool {
	if document.Object.GetKind() != "Pod" {
		return false
	}
	for _, other := range all {
		for _, owner := range other.Object.GetOwnerReferences() {
			if owner.Kind == "Pod" && owner.Name == document.Object.GetName() {
				return false
			}
		}
	}
	return true
}
