package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/repair"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
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

// foretell is the forecast for one domain, in words.
func foretell(t testing.TB, cluster *inventory.Inventory, domain string) []string {
	t.Helper()
	forecaster, err := repair.New(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range repair.Failures(cluster) {
		if failure.Domain != domain {
			continue
		}
		forecast, err := forecaster.Foretell(t.Context(), failure)
		if err != nil {
			t.Fatal(err)
		}
		return inWords(forecast)
	}
	t.Fatalf("no failure of %s among %v", domain, repair.Failures(cluster))
	return nil
}

func inWords(forecast *repair.Forecast) (words []string) {
	for _, gang := range forecast.MendedInPlace {
		words = append(words, gang+" in place")
	}
	for _, move := range forecast.MendedByMoving {
		words = append(words, fmt.Sprintf("%s moves %q: %d", move.Gang, move.SubGroup, move.Pods))
	}
	for _, gang := range forecast.Lost {
		words = append(words, gang+" lost")
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
			[]string{"default/g in place"},
		},
		"a full rack sends it to another": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{`default/g moves "": 1`},
		},
		"a gang of which pods are left goes before one of which none is": {
			topology + node("z-r1-n1", 8) + nodes(4, "z-r1-n2", "z-r1-n3") + podGroup("a", "minMember: 1") + pods("a", "", 4, "z-r1-n1") +
				podGroup("b", "minMember: 2, "+oneRack) + pods("b", "", 4, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{"default/b in place", "default/a lost"},
		},
		"a gang that its zone has no room for is lost": {
			racks + podGroup("g", "minMember: 4, "+oneZone) + pods("g", "", 4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2"), "z-r1-n1",
			[]string{"default/g lost"},
		},
		"only the subgroup moves that has to": {
			racks + nodes(4, "z-r3-n1", "z-r3-n2") + podGroup("g", `subGroups: [{name: a, minMember: 2, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}], `+oneZone) +
				pods("g", "a", 4, "z-r1-n1", "z-r1-n2") + pods("g", "b", 4, "z-r2-n1", "z-r2-n2"), "z-r1-n1",
			[]string{`default/g moves "a": 1`},
		},
		"the subgroup with fewer pods left moves, where either would do": {
			topology + nodes(3, "z-r1-n1", "z-r1-n2", "z-r2-n1") +
				podGroup("g", `subGroups: [{name: a, minMember: 3, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}]`) +
				pods("g", "a", 1, "z-r1-n1", "z-r1-n2", "z-r1-n2") + pods("g", "b", 1, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{`default/g moves "b": 1`},
		},
		"the whole gang moves where its zone is too small": {
			topology + nodes(4, "x-r1-n1", "x-r1-n2", "z-r1-n1", "z-r1-n2") +
				podGroup("g", `subGroups: [{name: a, minMember: 1, `+oneRack+`}, {name: b, minMember: 1, `+oneRack+`}], `+oneZone) +
				pods("g", "a", 4, "x-r1-n1") + pods("g", "b", 4, "x-r1-n2"), "x-r1-n1",
			[]string{`default/g moves "": 1`},
		},
		"a rack takes all its gangs with it, the older ones first": {
			racks + podGroup("first", "minMember: 1, "+oneRack) + podGroup("second", "minMember: 1, "+oneRack) + podGroup("third", "minMember: 1, "+oneRack) +
				pods("first", "", 4, "z-r1-n1") + pods("second", "", 4, "z-r1-n2") + pods("third", "", 4, "z-r2-n1"), "z/r1",
			[]string{"default/first in place", "default/second lost"},
		},
		"what moves away makes room for the next": {
			topology + nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2", "z-r2-n3") +
				podGroup("first", "minMember: 2, "+oneRack) + podGroup("second", "minMember: 1, "+oneRack+", priorityClassName: low") +
				pods("first", "", 3, "z-r1-n1", "z-r1-n2") + pods("second", "", 1, "z-r1-n1"), "z-r1-n1",
			[]string{"default/second in place", `default/first moves "": 1`},
		},
		"a gang with pods to spare goes on": {
			topology + nodes(4, "z-r1-n1", "z-r1-n2") + podGroup("g", "minMember: 1, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r1-n2"), "z-r1-n1",
			[]string{"default/g in place"},
		},
		"a gang that lacked pods before is nobody's failure": {
			racks + podGroup("g", "minMember: 2, "+oneRack) + pods("g", "", 4, "z-r1-n1", ""), "z-r1-n1", nil,
		},
		"a gang with a pod on a node that is gone lacks it already": {
			racks + podGroup("g", "minMember: 2") + pods("g", "", 4, "z-r1-n1", "z-r9-n9"), "z-r1-n1", nil,
		},
		"a pod to spare on a node that is gone does not count": {
			racks + podGroup("g", "minMember: 1, "+oneRack) + pods("g", "", 4, "z-r1-n1", "z-r9-n9"), "z-r1-n1",
			[]string{"default/g in place"},
		},
		"nobody stands there": {
			racks + podGroup("g", "minMember: 1") + pods("g", "", 4, "z-r1-n1"), "z/r2", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, foretell(t, read(t, test.cluster), test.domain)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAForecastChangesNothing(t *testing.T) {
	cluster := read(t, topology+nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2")+
		podGroup("a", "minMember: 2, "+oneRack)+pods("a", "", 3, "z-r1-n1", "z-r1-n2")+
		podGroup("b", "minMember: 1, "+oneRack)+pods("b", "", 1, "z-r1-n1"))
	forecaster, err := repair.New(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	round := func() (all [][]string) {
		for _, failure := range repair.Failures(cluster) {
			forecast, err := forecaster.Foretell(t.Context(), failure)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, inWords(forecast))
		}
		return all
	}
	if diff := cmp.Diff(round(), round()); diff != "" {
		t.Errorf("asked again it says something else:\n%s", diff)
	}
}

func TestFailuresAreDomainsAndNodes(t *testing.T) {
	hosts := strings.Replace(topology, "{nodeLabel: l/rack}]", "{nodeLabel: l/rack}, {nodeLabel: kubernetes.io/hostname}]", 1)
	outside := "---\napiVersion: v1\nkind: Node\nmetadata: {name: outside, labels: {l/zone: x}}\n"
	for name, test := range map[string]struct {
		cluster string
		want    []string
	}{
		"no topology": {node("z-r-n", 1), []string{"kubernetes.io/hostname z-r-n [z-r-n]"}},
		"two levels, and a node that lacks the second": {topology + nodes(1, "z-r-n1", "z-r-n2") + outside, []string{
			"l/zone x [outside]", "l/zone z [z-r-n1 z-r-n2]", "l/rack z/r [z-r-n1 z-r-n2]",
			"kubernetes.io/hostname outside [outside]", "kubernetes.io/hostname z-r-n1 [z-r-n1]", "kubernetes.io/hostname z-r-n2 [z-r-n2]",
		}},
		"two topologies that share a level, one of which tells hosts": {
			strings.Replace(hosts, "name: t", "name: u", 1) + "---" + topology + node("z-r-n", 1), []string{
				"l/zone z [z-r-n]", "l/rack z/r [z-r-n]", "kubernetes.io/hostname z/r/z-r-n [z-r-n]",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, failure := range repair.Failures(read(t, test.cluster)) {
				got = append(got, fmt.Sprint(failure.Level, " ", failure.Domain, " ", failure.Nodes))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
