package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const topology = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: l/zone}, {nodeLabel: l/rack}]}
`

// node has its zone and rack in its name: z1-r2-n3.
func node(name string, gpus int) string {
	parts := strings.Split(name, "-")
	return fmt.Sprintf(`---
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {l/zone: %[2]s, l/rack: %[3]s, kubernetes.io/hostname: %[1]s}}
status: {allocatable: {nvidia.com/gpu: "%[4]d", pods: "9"}}
`, name, parts[0], parts[1], gpus)
}

func podGroup(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: %s}\nspec: {%s}\n", name, spec)
}

// pods of a leaf stand on nodes, one on each that is named; where the name is empty, one waits.
func pods(gang, leaf string, gpus int, on ...string) string {
	var all strings.Builder
	for i, node := range on {
		fmt.Fprintf(&all, `---
apiVersion: v1
kind: Pod
metadata: {name: "%[1]s%[2]s-%[3]d", annotations: {pod-group-name: "%[1]s"}, labels: {kai.scheduler/subgroup-name: "%[2]s"}}
spec: {nodeName: "%[4]s", containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "%[5]d"}, limits: {nvidia.com/gpu: "%[5]d"}}}]}
`, gang, leaf, i, node, gpus)
	}
	return all.String()
}

func nodes(gpus int, names ...string) string {
	var all strings.Builder
	for _, name := range names {
		all.WriteString(node(name, gpus))
	}
	return all.String()
}

const (
	oneRack = `topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}`
	oneZone = `topologyConstraint: {topology: t, requiredTopologyLevel: l/zone}`
)

var read = testsupport.Inventory

// nodesOf are the nodes of a domain: one node, a rack with its zone, or a zone.
func nodesOf(cluster *inventory.Inventory, domain string) (names []string) {
	for _, node := range cluster.Nodes {
		zone, rack := node.Labels["l/zone"], node.Labels["l/zone"]+"/"+node.Labels["l/rack"]
		if domain == node.Name || domain == zone || domain == rack {
			names = append(names, node.Name)
		}
	}
	return names
}

// without is what becomes of the gangs of a cluster without some nodes, in words.
func without(t testing.TB, cluster *inventory.Inventory, nodes []string) (words []string) {
	t.Helper()
	losses, err := repair.Without(t.Context(), cluster, nodes)
	require.NoError(t, err)
	for _, loss := range losses {
		lost := fmt.Sprint(loss.Gang, " loses ", loss.Pods, ": ")
		switch {
		case loss.Hold != nil:
			words = append(words, lost+loss.Hold.Message)
		case loss.Plan.Reason == scheduling.ReasonNoPlace:
			words = append(words, lost+"no place")
		case loss.Plan.Reason == "":
			words = append(words, lost+"in place")
		default:
			words = append(words, lost+"moves "+loss.Plan.What())
		}
	}
	return words
}

func TestWhatBecomesOfGangs(t *testing.T) {
	racks := topology + nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2")
	for name, test := range map[string]struct {
		cluster, domain string
		want            []string
	}{
		"a rack with a free node mends a gang where it stands": {
			racks + podGroup("g", "minMember: 1, "+oneRack) + pods("g", "", 4, "z-r1-n1"), "z-r1-n1",
			[]string{"default/g loses 1: in place"},
		},
		"a full rack sends it to another": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{"default/g loses 1: moves the whole gang (1 pod) from l/rack z/r1 to z/r2"},
		},
		"a gang of which pods are left goes before one of which none is": {
			topology + node("z-r1-n1", 8) + nodes(4, "z-r1-n2", "z-r1-n3") + podGroup("a", "minMember: 1") + pods("a", "", 4, "z-r1-n1") +
				podGroup("b", "minMember: 2, "+oneRack) + pods("b", "", 4, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{"default/a loses 1: no place", "default/b loses 1: in place"},
		},
		"a gang that its zone has no room for is lost": {
			racks + podGroup("g", "minMember: 4, "+oneZone) + pods("g", "", 4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2"), "z-r1-n1",
			[]string{"default/g loses 1: no place"},
		},
		"only the subgroup moves that has to": {
			racks + nodes(4, "z-r3-n1", "z-r3-n2") + podGroup("g", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}], `+oneZone) +
				pods("g", "a", 4, "z-r1-n1", "z-r1-n2") + pods("g", "b", 4, "z-r2-n1", "z-r2-n2"), "z-r1-n1",
			[]string{"default/g loses 1: moves subgroup a (1 pod) from l/rack z/r1 to z/r3"},
		},
		"the subgroup with fewer pods left moves, where either would do": {
			topology + nodes(3, "z-r1-n1", "z-r1-n2", "z-r2-n1") +
				podGroup("g", `subGroups: [{name: a, minMember: 3, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}]`) +
				pods("g", "a", 1, "z-r1-n1", "z-r1-n2", "z-r1-n2") + pods("g", "b", 1, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{"default/g loses 2: moves subgroup b (1 pod) from l/rack z/r1 to z/r2"},
		},
		"the whole gang moves where its zone is too small": {
			topology + nodes(4, "x-r1-n1", "x-r1-n2", "z-r1-n1", "z-r1-n2") +
				podGroup("g", `subGroups: [{name: a, minMember: 1, `+oneRack+`}, {name: b, minMember: 1, `+oneRack+`}], `+oneZone) +
				pods("g", "a", 4, "x-r1-n1") + pods("g", "b", 4, "x-r1-n2"), "x-r1-n1",
			[]string{"default/g loses 1: moves the whole gang (1 pod) from l/zone x to z"},
		},
		"a rack takes all its gangs with it, the older ones first": {
			racks + podGroup("first", "minMember: 1, "+oneRack) + podGroup("second", "minMember: 1, "+oneRack) + podGroup("third", "minMember: 1, "+oneRack) +
				pods("first", "", 4, "z-r1-n1") + pods("second", "", 4, "z-r1-n2") + pods("third", "", 4, "z-r2-n1"), "z/r1",
			[]string{"default/first loses 1: in place", "default/second loses 1: no place"},
		},
		"what moves away makes room for the next": {
			topology + nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2", "z-r2-n3") +
				podGroup("first", "minMember: 2, "+oneRack) + podGroup("second", "minMember: 1, "+oneRack+", priorityClassName: low") +
				pods("first", "", 3, "z-r1-n1", "z-r1-n2") + pods("second", "", 1, "z-r1-n1"), "z-r1-n1",
			[]string{"default/first loses 1: moves the whole gang (1 pod) from l/rack z/r1 to z/r2", "default/second loses 1: in place"},
		},
		"what fits in place gets its room before another moves there": {
			topology + nodes(4, "z-r1-n1", "z-r2-n1") + node("z-r1-n2", 2) + podGroup("a", "minMember: 2, "+oneRack) + podGroup("b", "minMember: 1") +
				pods("a", "", 2, "z-r1-n1", "z-r1-n2") + pods("b", "", 2, "z-r1-n1"), "z-r1-n1",
			[]string{"default/a loses 1: no place", "default/b loses 1: in place"},
		},
		"a gang with pods to spare goes on": {
			topology + nodes(4, "z-r1-n1", "z-r1-n2") + podGroup("g", "minMember: 1, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{"default/g loses 1: in place"},
		},
		"a gang that lacked pods before needs a place for these too": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", ""), "z-r1-n1",
			[]string{"default/g loses 1: in place"},
		},
		"and has none where there is room for one": {
			topology + nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1") + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", ""), "z-r1-n1",
			[]string{"default/g loses 1: no place"},
		},
		"a gang with a pod on a node that is gone needs a place for it too": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r9-n9"), "z-r1-n1",
			[]string{"default/g loses 1: in place"},
		},
		"a gang whose pods are not there yet cannot be planned": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1"), "z-r1-n1",
			[]string{"default/g loses 1: waiting for pods to be created: the PodGroup has 1 of 2"},
		},
		"a gang that waits loses none": {
			racks + podGroup("g", "minMember: 1") + pods("g", "", 4, ""), "z-r1-n1", nil,
		},
		"a pod to spare on a node that is gone does not count": {
			racks + podGroup("g", "minMember: 1, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r9-n9"), "z-r1-n1",
			[]string{"default/g loses 1: in place"},
		},
		"no gang stands there": {
			racks + podGroup("g", "minMember: 1") + pods("g", "", 4, "z-r1-n1"), "z/r2", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := read(t, test.cluster)
			assert.Empty(t, cmp.Diff(test.want, without(t, cluster, nodesOf(cluster, test.domain))))
		})
	}
}

func TestAskingChangesNothing(t *testing.T) {
	cluster := read(t, topology+nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2")+
		podGroup("a", "minMember: 2, "+oneRack)+pods("a", "", 3, "z-r1-n1", "z-r1-n2")+
		podGroup("b", "minMember: 1, "+oneRack)+pods("b", "", 1, "z-r1-n1"))
	round := func() (all [][]string) {
		for _, domain := range []string{"z-r1-n1", "z-r1-n2", "z-r2-n1", "z/r1", "z/r2", "z"} {
			all = append(all, without(t, cluster, nodesOf(cluster, domain)))
		}
		return all
	}
	assert.Empty(t, cmp.Diff(round(), round()), "asked again it says something else")
}
