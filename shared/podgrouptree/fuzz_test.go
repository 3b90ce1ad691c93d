package podgrouptree_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/mutants"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
	"packtree.dev/shared/repairpolicy"
)

const fuzzed = `{"metadata": {"name": "g", "annotations": {"packtree.dev/min-running": "{\"a\":1,\"b\":2}",
"packtree.dev/expected-pods": "{\"a\":4}", "packtree.dev/repair-move": "gang", "packtree.dev/repair-after": "5m",
"packtree.dev/relations": "[{\"name\":\"x\",\"subGroups\":[\"a\",\"b\"],\"level\":\"rack\",\"maxPerDomain\":1},` +
	`{\"name\":\"y\",\"podsOf\":\"c\",\"topology\":\"net\",\"level\":\"zone\",\"maxPercentPerDomain\":34,\"required\":false},` +
	`{\"name\":\"z\",\"gangs\":\"w\",\"item\":\"i\",\"level\":\"numa\",\"even\":true},{\"name\":\"n\",\"near\":\"o\",\"level\":\"rack\"}]"}},
"spec": {"minSubGroup": 1, "topologyConstraint": {"topology": "net", "requiredTopologyLevel": "zone"}, "subGroups": [
{"name": "c", "minSubGroup": 2, "topologyConstraint": {"topology": "net", "preferredTopologyLevel": "rack"}},
{"name": "a", "parent": "c", "minMember": 2}, {"name": "b", "parent": "c", "minMember": 2},
{"name": "d", "minMember": 1, "topologyConstraint": {"topology": "net", "requiredTopologyLevel": "numa"}}]}}`

// FuzzPodGroup: the spec and the annotations of any PodGroup are read, or it is said what is wrong with them.
func FuzzPodGroup(f *testing.F) {
	var seed any
	require.NoError(f, json.Unmarshal([]byte(fuzzed), &seed))
	hierarchy := podgrouptree.Hierarchy{{Key: "zone"}, {Key: "rack"}, {Key: "kubernetes.io/hostname"}, {Key: "numa"}}
	levels := func(name string) (podgrouptree.Hierarchy, bool) { return hierarchy, name == "net" }
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, program []byte) {
		podGroup := &scheduling.PodGroup{}
		if json.Unmarshal(mutants.JSON(mutants.Of(seed, nil, program)), podGroup) != nil {
			return
		}
		_, _ = podgrouptree.ParseExpected(podGroup.Annotations)
		_, _ = repairpolicy.Parse(podGroup.Annotations, repairpolicy.Policy{})
		_ = podgrouptree.CheckMinRunning(podGroup.Annotations, &podGroup.Spec)
		related, errs := relations.Parse(podGroup.Annotations)
		if again, wrong := relations.Parse(written(relations.Format(related))); len(errs)+len(wrong) == 0 && related != nil {
			require.Empty(t, cmp.Diff(related, again), "relations (-read +written and read)")
		}
		tree, errs := podgrouptree.New(&podGroup.Spec)
		if len(errs) > 0 {
			return
		}
		running, _ := podgrouptree.ParseMinRunning(podGroup.Annotations)
		for _, tree := range []*podgrouptree.Tree{tree, tree.Started(running), tree.Mending(func(*podgrouptree.Group) int { return 1 })} {
			_ = append(tree.Blockers(levels), relations.Validate(related, tree, levels)...)
			_ = tree.Remarks(&podGroup.Spec, levels)
			if tree.Resolve(levels); tree.Root.MinPods() > 0 && tree.Root.Satisfied(func(*podgrouptree.Group) int { return 0 }) {
				t.Fatalf("it needs %d pods and has its minimum with none", tree.Root.MinPods())
			}
		}
	})
}
