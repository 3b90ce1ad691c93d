package place_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Grove's profile for KAI makes one PodGroup of all PodGangs of a replica: those beside the anchor are branches below a
// group that needs none of them.
func TestABranchThatMayBeMissingIsPlacedWholeOrNotAtAll(t *testing.T) {
	for name, c := range map[string]struct {
		nodes int
		want  []string
	}{
		"there is room for it":  {2, []string{"anchor-0", "anchor-1", "tail-0", "tail-1"}},
		"the anchor goes first": {1, []string{"anchor-0", "anchor-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var in strings.Builder
			in.WriteString(`apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: grove-set-0}
spec:
  minSubGroup: 2
  subGroups:
  - {name: 0-non-anchor, minSubGroup: 1}
  - {name: utility, parent: 0-non-anchor, minSubGroup: 0}
  - {name: branch, parent: utility, minSubGroup: 1}
  - {name: tail, parent: branch, minMember: 2}
  - {name: 1-anchor, minSubGroup: 1}
  - {name: anchor, parent: 1-anchor, minMember: 2}
`)
			for i := range c.nodes {
				fmt.Fprintf(&in, `---
{apiVersion: v1, kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: "3", pods: "10"}}}
`, i)
			}
			for _, pod := range []string{"anchor-0", "anchor-1", "tail-0", "tail-1"} {
				fmt.Fprintf(&in, `---
{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {pod-group-name: grove-set-0, kai.scheduler/skip-podgrouper: "true"}, labels: {kai.scheduler/subgroup-name: %s}}, spec: {schedulerName: kai-scheduler, containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}}
`, pod, pod[:len(pod)-2])
			}
			done := run(t, in.String(), "-f", "-")
			var answer struct {
				PodGroups []struct {
					Verdict     string
					Assignments map[string]string
				}
			}
			err := json.Unmarshal([]byte(done.stdout), &answer)
			require.NoError(t, err, "%v\n%s", err, done.stderr)
			assert.Equal(t, "Placed", answer.PodGroups[0].Verdict, "verdict %s\n%s", answer.PodGroups[0].Verdict, done.stdout)
			placed := slices.Sorted(maps.Keys(answer.PodGroups[0].Assignments))
			assert.Empty(t, cmp.Diff(c.want, placed))
		})
	}
}
