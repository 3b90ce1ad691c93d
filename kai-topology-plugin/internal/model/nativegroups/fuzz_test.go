package nativegroups_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/shared/mutants"
	"packtree.dev/shared/podgrouptree"
)

const fuzzed = `[{"kind": "CompositePodGroup", "apiVersion": "scheduling.k8s.io/v1alpha3", "metadata": {"name": "a", "generation": 2},
"spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}, "schedulingConstraints": {"topology": [{"key": "zone"}]}}},
{"kind": "CompositePodGroup", "apiVersion": "scheduling.k8s.io/v1alpha3", "metadata": {"name": "b"},
"spec": {"parentCompositePodGroupName": "a", "schedulingPolicy": {"basic": {}}}},
{"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1beta1", "metadata": {"name": "c", "annotations": {
"kai.scheduler/topology-preferred-placement": "rack"}}, "spec": {"parentCompositePodGroupName": "b", "schedulingPolicy": {"gang": {"minCount": 3}}}},
{"kind": "PodGroup", "apiVersion": "scheduling.k8s.io/v1beta1", "metadata": {"name": "d"}, "spec": {"parentCompositePodGroupName": "a"},
"status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False", "message": "Infeasible: x"}]}}]`

// FuzzForest: whatever groups there are, and in whatever order they come, each gang is a PodGroup from which a tree can be
// made, and each pod is a member of one gang.
func FuzzForest(f *testing.F) {
	var seed any
	require.NoError(f, json.Unmarshal([]byte(fuzzed), &seed))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, program []byte) {
		var objects []map[string]any
		list, _ := json.Marshal(mutants.Of(seed, nil, program))
		if json.Unmarshal(list, &objects) != nil {
			return
		}
		forest := &nativegroups.Forest{}
		for _, object := range objects {
			written := &unstructured.Unstructured{Object: object}
			if !slices.Contains(nativegroups.Kinds, written.GroupVersionKind().GroupKind()) {
				continue
			}
			group, err := nativegroups.Read(written)
			if err != nil || len(validation.IsDNS1123Subdomain(group.Name)) > 0 {
				continue
			}
			forest.Set(group)
			root := forest.Root(group.Ref())
			_, _ = forest.Groups(root), forest.Join(member(group.Name))
			if gang := forest.Gang(root, topologies); gang != nil {
				_, errs := podgrouptree.New(&gang.Spec)
				require.Empty(t, errs, "of %s", list)
			}
		}
	})
}
