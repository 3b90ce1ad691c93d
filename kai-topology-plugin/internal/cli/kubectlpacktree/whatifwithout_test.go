package kubectlpacktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/shared/render"
)

func hostManifest(name, zone, rack, resources string) string {
	return fmt.Sprintf("---\n"+
		`{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {zone: %s, rack: %s}}, status: {allocatable: {pods: "9", %s}}}`+"\n", name, zone, rack, resources)
}

func gangManifest(name, spec string) string {
	return fmt.Sprintf("---\n{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: %s, namespace: d}, spec: {%s}}\n", name, spec)
}

// podsOn has a pod of a leaf on each node.
func podsOn(gang, leaf, requests string, nodes ...string) string {
	var text strings.Builder
	for i, node := range nodes {
		fmt.Fprintf(&text, "---\n"+`{apiVersion: v1, kind: Pod,
 metadata: {name: %[1]s%[2]s-%[3]d, namespace: d, annotations: {pod-group-name: %[1]s}, labels: {kai.scheduler/subgroup-name: "%[2]s"}},
 spec: {nodeName: %[4]s, containers: [{name: c, image: c, resources: {requests: {%[5]s}}}]}}`+"\n", gang, leaf, i, node, requests)
	}
	return text.String()
}

// dumpOfRacks has a rack r1 in each of two zones. Of the gangs on node a1, one has a place beside its other pod, of one a
// subgroup has to go to another rack, one has to go there as a whole, and one has no place.
func dumpOfRacks(t *testing.T) string {
	t.Helper()
	const required = "topologyConstraint: {topology: t, requiredTopologyLevel: %s}"
	zone, rack := fmt.Sprintf(required, "zone"), fmt.Sprintf(required, "rack")
	text := "{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: t}, spec: {levels: " +
		"[{nodeLabel: zone, alias: site}, {nodeLabel: rack}]}}\n" +
		hostManifest("a1", "za", "r1", "gpu.com/gpu: 4, cpu: 1") + hostManifest("a2", "za", "r1", "gpu.com/gpu: 4") +
		hostManifest("a3", "za", "r2", "gpu.com/gpu: 8") + hostManifest("b1", "zb", "r1", "gpu.com/gpu: 1") +
		gangManifest("fits", "minMember: 2, "+zone) + podsOn("fits", "", "gpu.com/gpu: 1", "a1", "a2") +
		gangManifest("halves", "subGroups: [{name: x, minMember: 2, "+rack+"}, {name: w, minMember: 1}], "+zone) +
		podsOn("halves", "x", "gpu.com/gpu: 1", "a1", "a2") + podsOn("halves", "w", "gpu.com/gpu: 1", "a3") +
		gangManifest("moves", "minMember: 2, "+rack) + podsOn("moves", "", "gpu.com/gpu: 2", "a1", "a2") +
		gangManifest("stuck", "minMember: 1") + podsOn("stuck", "", "cpu: 1", "a1")
	path := filepath.Join(t.TempDir(), "dump.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const noPlace = "no placement was found for the gang, even if all its pods moved"

func TestWhatBecomesOfGangsWithoutNodes(t *testing.T) {
	racks := dumpOfRacks(t)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a node without gangs": {args: []string{"--without-node", "b1"}, want: "Without 1 node: no gang loses pods\n"},
		"all are repaired": {args: []string{"--without-node", "a2"}, want: "d/fits loses 1 pod: repaired in place\n" +
			"d/halves loses 1 pod: repaired by moving subgroup x (1 pod) from rack za/r1 to za/r2\n" +
			"d/moves loses 1 pod: repaired by moving the whole gang (1 pod) from rack za/r1 to za/r2\n" +
			"Without 1 node: 3 gangs lose pods, 1 repaired in place, 1 by moving a subgroup, 1 by moving the gang\n"},
		"no place in the zone": {args: []string{"--without-node", "a3"}, code: 3, want: "d/halves loses 1 pod: not repaired: " + noPlace + "\nWithout 1 node: 1 gang loses pods, 1 not at all\n"},
		"some are not": {args: []string{"--without-node", "a1"}, code: 3, want: "d/fits loses 1 pod: repaired in place\n" +
			"d/halves loses 1 pod: repaired by moving subgroup x (1 pod) from rack za/r1 to za/r2\n" +
			"d/moves loses 1 pod: repaired by moving the whole gang (1 pod) from rack za/r1 to za/r2\n" +
			"d/stuck loses 1 pod: not repaired: " + noPlace + "\n" +
			"Without 1 node: 4 gangs lose pods, 1 repaired in place, 1 by moving a subgroup, 1 by moving the gang, 1 not at all\n"},
		"nodes are gone together": {args: []string{"--without-domain", "rack=r2", "--without-node", "a2"}, code: 3, want: "d/fits loses 1 pod: not repaired: " + noPlace + "\n" +
			"d/halves loses 2 pods: not repaired: " + noPlace + "\n" +
			"d/moves loses 1 pod: not repaired: " + noPlace + "\nWithout 2 nodes: 3 gangs lose pods, 3 not at all\n"},
		"a drawing has no YAML": {args: []string{"--without-node", "a1", "-o", "yaml"}, code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(t, append([]string{"what-if", "-f", racks}, test.args...)...)
			if code := codeOf(err); code != test.code || stderr != "" {
				t.Errorf("exit code %d (%v), want %d; %s", code, err, test.code, stderr)
			}
			assert.Empty(t, cmp.Diff(test.want, stdout), "(-want +got):\n%s", stdout)
		})
	}
}

// codeOf is the exit code of an error, except for wrong flags, which render.Execute tells apart.
func codeOf(err error) int {
	var coder render.Coder
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coder):
		return coder.ExitCode()
	}
	return 1
}

func TestWhatBecomesOfGangsForPrograms(t *testing.T) {
	stdout, _, err := run(t, "what-if", "-f", dumpOfRacks(t), "--without-node", "a1", "-o", "json")
	require.Equal(t, 3, codeOf(err), "%v", err)
	var got lossReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	want := lossReport{Nodes: []string{"a1"}, Gangs: []gangLoss{
		{Namespace: "d", Name: "fits", LostPods: 1, Repair: repairInPlace, Moves: []repair.Relocation{}},
		{Namespace: "d", Name: "halves", LostPods: 1, Repair: repairSubGroup, Moves: []repair.Relocation{
			{SubGroup: "x", Pods: 1, Level: "rack", From: "za/r1", To: "za/r2"}}},
		{Namespace: "d", Name: "moves", LostPods: 1, Repair: repairGang, Moves: []repair.Relocation{
			{Pods: 1, Level: "rack", From: "za/r1", To: "za/r2"}}},
		{Namespace: "d", Name: "stuck", LostPods: 1, Repair: repairNone, Moves: []repair.Relocation{}, Message: noPlace},
	}, Notes: []string{}}
	assert.Empty(t, cmp.Diff(want, got), "(-want +got)")
}

func TestWhatIsGoneIsNamedRightly(t *testing.T) {
	racks := dumpOfRacks(t)
	for name, test := range map[string]struct {
		flag, value string
		code        int
		want        string
	}{
		"no such node":         {"--without-node", "a11", 1, `--without-node: there is no node "a11"; did you mean "a1"? there is: a1, a2, a3, b1`},
		"no such level":        {"--without-domain", "row=r1", 1, `--without-domain row=r1: no Topology has level "row"; there is: rack, zone`},
		"no such value":        {"--without-domain", "rack=r9", 1, `--without-domain rack=r9: no node has "r9" at this level; there is: za/r1, za/r2, zb/r1`},
		"a value of several":   {"--without-domain", "rack=r1", 1, `--without-domain rack=r1: several domains have this name; take one of za/r1, zb/r1`},
		"no value":             {"--without-domain", "rack", 1, "--without-domain is LEVEL=VALUE, such as topology.kubernetes.io/zone=zone-a, not \"rack\""},
		"a label":              {"--without-domain", "rack=r2", 3, ""},
		"an alias":             {"--without-domain", "site=zb", 0, ""},
		"a domain of statuses": {"--without-domain", "rack=za/r2", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, "what-if", "-f", racks, test.flag, test.value)
			assert.Equal(t, test.code, codeOf(err), "exit code")
			assert.False(t, test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)),
				"it says %v, want %q", err, test.want)
		})
	}
}

func TestWithoutAClusterManifestsWithNodesAreDecidedByThemselves(t *testing.T) {
	stdout, stderr, err := run(t, "what-if", "-f", dumpOfRacks(t), "-o", "json")
	require.NoError(t, err)
	assert.Contains(t, stderr+stdout, "no cluster is configured")
	assert.Equal(t, 4, strings.Count(stdout, `"verdict": "Placed"`))
	_, _, err = run(t, "what-if", "-f", dumpOfRacks(t), "-s", "nowhere://", "--request-timeout", "x")
	assert.ErrorContains(t, err, "finding a cluster")
}
