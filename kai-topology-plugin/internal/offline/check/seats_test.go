package check_test

import (
	"fmt"
	"strings"
	"testing"
)

// withSeat is a node with room for one pod, a gang that lost a pod and has a replacement pod that waits or is not
// created yet, and another gang of one pod. That gang has its turn first if its priority is higher or the first gang
// has no pods.
func withSeat(until string, successor bool, priority int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: "1"}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: left, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {minMember: 1}
status: {seats: [{nodes: [n0], priority: 0, requests: {cpu: "1"}%s}]}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: other, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {minMember: 1}
`, until)
	pod := func(name, gang string, priority int) {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {pod-group-name: %s}}
spec: {priority: %d, schedulerName: kai-scheduler, containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}
`, name, gang, priority)
	}
	pod("other-0", "other", priority)
	if successor {
		pod("left-1", "left", 0)
	}
	return b.String()
}

func TestSeatsAreRespected(t *testing.T) {
	const until = `, until: "2026-01-03T00:00:00Z"`
	for name, c := range map[string]struct {
		manifests string
		want      map[string]string
	}{
		"by a gang of the same priority": {withSeat(until, false, 0), map[string]string{"left": "Incomplete", "other": "Infeasible"}},
		"but for their own gang":         {withSeat(until, true, 0), map[string]string{"left": "Placed", "other": "Infeasible"}},
		"not by a gang above":            {withSeat(until, false, 1), map[string]string{"left": "Incomplete", "other": "Placed"}},
		"which may take them from it":    {withSeat(until, true, 1), map[string]string{"left": "Infeasible", "other": "Placed"}},
		"not where the node shows the pod that is on its way out": {
			withSeat("", false, 0), map[string]string{"left": "Incomplete", "other": "Placed"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := saved(t, c.manifests)
			answer := answered(t, file)
			for at := range 2 {
				name := field(answer, "podGroups", at, "name").(string)
				if got := field(answer, "podGroups", at, "verdict"); got != c.want[name] {
					t.Errorf("%s: %s (%s), want %s", name, got, field(answer, "podGroups", at, "message"), c.want[name])
				}
			}
			if got := checked(t, answer, file); got.code != 0 || got.stdout != "" {
				t.Errorf("check exits with %d: %s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}
