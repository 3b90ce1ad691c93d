package place_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

// twoRacks are a rack of two nodes, one of them full, an empty rack of four, and a gang of one pod.
func twoRacks(annotations string) string {
	nodes := ""
	for i := range 6 {
		rack := "small"
		if i >= 2 {
			rack = "large"
		}
		nodes += fmt.Sprintf(`---
{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {rack: %s}}, status: {allocatable: {cpu: "1", pods: "10"}}}
`, i, rack)
	}
	const containers = `containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]`
	return nodes + `---
{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: net}, spec: {levels: [{nodeLabel: rack}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: running, namespace: ns}, spec: {nodeName: n0, ` + containers + `}}
---
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g, namespace: ns, annotations: {` + annotations + `}}, spec: {minMember: 1, topologyConstraint: {topology: net, requiredTopologyLevel: rack}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, annotations: {pod-group-name: g}}, spec: {schedulerName: kai-scheduler, ` + containers + `}}
`
}

func TestGangsThatFitSeveralDomainsArePackedOrSpread(t *testing.T) {
	const spread, pack = "packtree.dev/placement: Spread", "packtree.dev/placement: Pack"
	for name, c := range map[string]struct {
		annotations string
		flags       []string
		want        string
	}{
		"packed unless told otherwise":         {want: "small"},
		"spread where the gang asks for it":    {annotations: spread, want: "large"},
		"spread where the scheduler is set so": {flags: []string{"--placement", "Spread"}, want: "large"},
		"the gang's own word counts more": {annotations: pack, flags: []string{"--placement", "Spread"},
			want: "small"},
		"a word that is none leaves it to the flag": {annotations: "packtree.dev/placement: Tight",
			flags: []string{"--placement", "Spread"}, want: "large"},
	} {
		t.Run(name, func(t *testing.T) {
			done := run(t, twoRacks(c.annotations), append([]string{"-f", "-"}, c.flags...)...)
			if done.err != nil {
				t.Fatal(done.err, done.stderr)
			}
			var result place.Result
			require.NoError(t, json.Unmarshal([]byte(done.stdout), &result))
			if got := result.PodGroups[0].SubGroups[0].Domains["rack"]; len(got) != 1 || got[0] != c.want {
				t.Errorf("rack %v, want %s", got, c.want)
			}
		})
	}
}
