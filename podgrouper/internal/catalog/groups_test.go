package catalog_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
)

// groupCase is a workload and what becomes of it: a document of testdata/groups.
type groupCase struct {
	// Case says what it shows.
	Case string `json:"case"`
	// Workload is the owner of the pods.
	Workload unstructured.Unstructured `json:"workload"`
	// Outline reports whether only the workload's metadata is read.
	Outline bool `json:"outline"`
	// PodGroup is the spec of its PodGroup.
	PodGroup scheduling.PodGroupSpec `json:"podGroup"`
	// Expected are the expected pods in the PodGroup's annotation, except leaves that expect no more than their
	// minimum.
	Expected string `json:"expected"`
	// Problems are the mistakes that are found in the workload.
	Problems []string `json:"problems"`
	// Pods are some of its pods.
	Pods []memberCase `json:"pods"`
}

// memberCase is a pod and the group to which it belongs.
type memberCase struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	// Leaf is the name of the group; "none" for a pod that belongs to no group.
	Leaf string `json:"leaf"`
}

// TestGroups checks each case of testdata/groups, and that the API server would take its PodGroup.
func TestGroups(t *testing.T) {
	files, err := filepath.Glob("testdata/groups/*.yaml")
	require.NoError(t, err, "no cases")
	require.NotEmpty(t, files, "no cases")
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, document := range bytes.Split(content, []byte("\n---\n")) {
			var c groupCase
			require.NoError(t, yaml.UnmarshalStrict(document, &c), "%s, document %d", file, i)
			t.Run(fmt.Sprintf("%s: %s", filepath.Base(file), c.Case), c.check)
		}
	}
}

// beyondMinima returns the expected pods of the leaves that do not expect just what they need.
func beyondMinima(spec *scheduling.PodGroupSpec, expected podgrouptree.Expected) podgrouptree.Expected {
	tree, _ := podgrouptree.New(spec)
	maps.DeleteFunc(expected, func(leaf string, pods int32) bool {
		return tree.Leaf(leaf) != nil && tree.Leaf(leaf).MinMember == pods
	})
	return expected
}

func (c *groupCase) check(t *testing.T) {
	workload := grouping.Workload{Owner: grouping.Owner{
		Object: &c.Workload, Kind: c.Workload.GroupVersionKind(), Content: c.Workload.Object, Outline: c.Outline,
	}}
	grouper := catalog.For(workload.Owner)
	group := grouper.Group(workload)
	spec := group.PodGroupSpec()
	assert.Empty(t, cmp.Diff(c.PodGroup, spec), "spec (-want +got)")
	assert.Empty(t, cmp.Diff(c.Expected, beyondMinima(&spec, group.Expects()).String()), "expected pods (-want +got)")
	assert.Empty(t, cmp.Diff(c.Problems, lines(group.Problems)), "problems (-want +got)")
	assert.Empty(t, podgrouptree.ValidateCreate(&spec), "the PodGroup would be turned down")
	for _, member := range c.Pods {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: member.Name, Namespace: "default", Labels: member.Labels},
		}
		leaf, known := grouper.LeafOf(workload, pod)
		if !known {
			leaf = "none"
		}
		assert.Equal(t, member.Leaf, leaf, "pod %q with %v", member.Name, member.Labels)
	}
}
