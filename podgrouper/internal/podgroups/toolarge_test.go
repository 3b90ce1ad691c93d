package podgroups_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
)

// The workload of one user must not use up the memory that the workloads of all others need.
func TestMoreGroupsThanAPodGroupHoldsAreNotMade(t *testing.T) {
	jobSet := schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}
	leaderWorkerSet := schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1",
		Kind: "LeaderWorkerSet"}
	entry := "{name: a, replicas: 8000, template: {spec: {parallelism: 1}}}"
	cases := map[string]struct {
		kind        schema.GroupVersionKind
		annotations map[string]string
		spec        string
		tooLarge    bool
	}{
		"as many Jobs as there is room for": {kind: jobSet, spec: `{replicatedJobs: [{name: a, replicas: 8192}]}`},
		"one Job more": {kind: jobSet, spec: `{replicatedJobs: [{name: a, replicas: 8193}]}`,
			tooLarge: true},
		"more Jobs than can be counted on": {kind: jobSet, spec: `{replicatedJobs: [{name: a, replicas: 2147483647}]}`,
			tooLarge: true},
		"many entries of many Jobs": {kind: jobSet,
			spec: `{replicatedJobs: [` + strings.Repeat(entry+",", 500) + entry + `]}`, tooLarge: true},
		"many segments of many Jobs": {kind: jobSet,
			annotations: map[string]string{"kai.scheduler/segment-size": "1"},
			spec:        `{replicatedJobs: [{name: a, replicas: 8000, template: {spec: {parallelism: 8000, completions: 8000}}}]}`, tooLarge: true},
		"as many groups as there is room for": {kind: leaderWorkerSet,
			spec: `{replicas: 8192, leaderWorkerTemplate: {size: 2}}`},
		"one group more while there is a surge": {kind: leaderWorkerSet,
			spec: `{replicas: 8192, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 1}}, leaderWorkerTemplate: {size: 2}}`, tooLarge: true},
		"more groups than can be counted on": {kind: leaderWorkerSet,
			spec:     `{replicas: 2147483647, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 2147483647}}}`,
			tooLarge: true},
		"more subgroups than can be counted on": {kind: leaderWorkerSet,
			spec: `{leaderWorkerTemplate: {size: 2147483647, subGroupPolicy: {subGroupSize: 1}}}`, tooLarge: true},
		"two subgroups of all pods there can be": {kind: leaderWorkerSet,
			spec: `{leaderWorkerTemplate: {size: 2147483647, subGroupPolicy: {subGroupSize: 2147483000}}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: any/v1, kind: Any, spec: "+c.spec+"}"), object))
			owner := grouping.Owner{
				Object:  &metav1.ObjectMeta{Namespace: "default", Name: "huge", UID: "42", Annotations: c.annotations},
				Kind:    c.kind,
				Content: object.Object,
			}
			decision := podgroups.Decide(grouping.Workload{Owner: owner}, nil)
			assert.LessOrEqual(t, len(decision.PodGroup.Spec.SubGroups), 4*grouping.MostSubGroups)
			const remedy = "there are more groups than the 8192 that a PodGroup holds: lower the workload's replicas"
			reported := slices.ContainsFunc(decision.Fatal,
				func(err *field.Error) bool { return strings.Contains(err.Detail, remedy) })
			if reported != c.tooLarge || !c.tooLarge && len(decision.Fatal) > 0 {
				t.Errorf("too many groups: %t, but the PodGroup is not made because of %v", c.tooLarge, decision.Fatal)
			}
		})
	}
}
