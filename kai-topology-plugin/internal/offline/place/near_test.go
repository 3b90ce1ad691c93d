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

	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

// nearOthers has racks of two nodes with room for one pod each, and gangs of one pod by name; the value names the gang
// that the pod must be near, if any.
func nearOthers(racks int, gangs map[string]string) string {
	var out strings.Builder
	out.WriteString(
		"{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: net}, spec: {levels: [{nodeLabel: rack}]}}\n")
	for i := range 2 * racks {
		fmt.Fprintf(&out, `---
{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {rack: r%d}}, status: {allocatable: {cpu: "1", pods: "10"}}}
`, i, i/2)
	}
	for _, name := range slices.Sorted(maps.Keys(gangs)) {
		annotations := ""
		if near := gangs[name]; near != "" {
			annotations = fmt.Sprintf(
				`packtree.dev/relations: '[{"name":"it","topology":"net","near":%q,"level":"rack"}]'`, near)
		}
		fmt.Fprintf(&out, `---
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: %[1]s, annotations: {%[2]s}}, spec: {minMember: 1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s, annotations: {pod-group-name: %[1]s}}, spec: {schedulerName: kai-scheduler, containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}}
`, name, annotations)
	}
	return out.String()
}

// The turn of a gang may come before that of the one that it has to be near, as its name does here.
func TestGangsThatAreToBeNearOthersHaveAnotherTurn(t *testing.T) {
	for name, c := range map[string]struct {
		racks int
		gangs map[string]string
		want  []string
	}{
		"one that comes later": {1, map[string]string{"a": "b", "b": ""}, []string{"b Placed", "a Placed"}},
		"a chain of them": {2, map[string]string{"a": "b", "b": "c", "c": ""},
			[]string{"c Placed", "b Placed", "a Infeasible"}},
		"a circle that fits": {1, map[string]string{"a": "b", "b": "a"}, []string{"a Placed", "b Placed"}},
		"a circle of more than fit": {2, map[string]string{"a": "b", "b": "c", "c": "a"},
			[]string{"a Placed", "c Placed", "b Infeasible"}},
		"one that never comes": {1, map[string]string{"a": "nobody", "b": ""}, []string{"a Infeasible", "b Placed"}},
		"one that has no room": {1, map[string]string{"a": "d", "b": "", "c": "", "d": ""},
			[]string{"a Infeasible", "b Placed", "c Placed", "d Infeasible"}},
	} {
		t.Run(name, func(t *testing.T) {
			done := run(t, nearOthers(c.racks, c.gangs), "-f", "-")
			var result place.Result
			if err := json.Unmarshal([]byte(done.stdout), &result); err != nil {
				t.Fatal(err, done.stderr)
			}
			var got []string
			for _, podGroup := range result.PodGroups {
				got = append(got, podGroup.Name+" "+podGroup.Verdict)
			}
			diff := cmp.Diff(c.want, got)
			assert.Empty(t, diff, "(-want +got):\n%s\n%s", diff, done.stdout)
		})
	}
}
