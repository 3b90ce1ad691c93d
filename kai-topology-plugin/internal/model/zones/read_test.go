package zones_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

// written is an object with fields beside its name.
func written(t *testing.T, fields string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("metadata: {name: a}\n"+fields), &object.Object))
	return object
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   zones.Node
	}{
		"an object without any field": {"", zones.Node{}},
		"attributes":                  {attributes("restricted", "pod"), zones.Node{Policy: zones.Restricted, PerPod: true}},
		"of each name":                {attributes("single-numa-node", "container"), zones.Node{Policy: zones.SingleNUMA}},
		"a policy without a scope": {"attributes: [{name: topologyManagerPolicy, value: restricted}]",
			zones.Node{Policy: zones.Restricted}},
		"a policy of a later kubelet": {attributes("strict", "pod"), zones.Node{Policy: "strict", PerPod: true}},
		"other attributes":            {"attributes: [{name: nodeTopologyPodsFingerprint, value: x}]", zones.Node{}},
		"what older agents write": {"topologyPolicies: [SingleNUMANodePodLevel]",
			zones.Node{Policy: zones.SingleNUMA, PerPod: true}},
		"of containers":         {"topologyPolicies: [SingleNUMANodeContainerLevel]", zones.Node{Policy: zones.SingleNUMA}},
		"restricted":            {"topologyPolicies: [RestrictedPodLevel]", zones.Node{Policy: zones.Restricted, PerPod: true}},
		"restricted, by itself": {"topologyPolicies: [Restricted]", zones.Node{Policy: zones.Restricted}},
		"best effort":           {"topologyPolicies: [BestEffortPodLevel]", zones.Node{Policy: "best-effort", PerPod: true}},
		"an unknown old one":    {"topologyPolicies: [Whatever]", zones.Node{}},
		"attributes before topologyPolicies": {attributes("restricted", "container") +
			"topologyPolicies: [SingleNUMANodePodLevel]", zones.Node{Policy: zones.Restricted}},
		"even if only one of them is an attribute": {
			"attributes: [{name: topologyManagerPolicy, value: none}]\ntopologyPolicies: [SingleNUMANodePodLevel]",
			zones.Node{Policy: "none"}},
		"zones by their number": {zone("node-10") + more("node-2") + more("node-1") + more("package"),
			zones.Node{Zones: []zones.Zone{{Name: "node-1"}, {Name: "node-2"}, {Name: "node-10"}, {Name: "package"}}}},
		"zones of another type": {"zones: [{name: core-0, type: Core}, {name: node-0, type: Node, parent: socket-0, costs: [{name: x, value: 1}]}]",
			zones.Node{Zones: []zones.Zone{{Name: "node-0"}}}},
		"amounts in units": {listing("{name: cpu, capacity: 2, allocatable: 1500m, available: 1}"),
			amounting("cpu", 2000, 1500, 1000)},
		"what is allocatable is the capacity": {listing("{name: memory, capacity: 1Ki, available: 0.5Ki}"),
			amounting("memory", 1024, 1024, 512)},
		"less than nothing is nothing": {listing("{name: x.y/z, capacity: -1, allocatable: -2, available: -3}"),
			amounting("x.y/z", 0, 0, 0)},
		"more than can be counted": {listing("{name: cpu, capacity: 1e40, allocatable: 9223372036854775807, available: 8E}"),
			amounting("cpu", 1<<50, 1<<50, 1<<50)},
	} {
		got, err := zones.Read(written(t, c.fields))
		c.want.Name = "a"
		require.NoError(t, err, "%s: %+v; want %+v", name, got, c.want)
		assert.True(t, c.want.Equal(got), "%s: %+v; want %+v", name, got, c.want)
	}
}

func attributes(policy, scope string) string {
	return fmt.Sprintf("attributes:\n- {name: topologyManagerPolicy, value: %s}\n"+
		"- {name: topologyManagerScope, value: %s}\n", policy, scope)
}

func zone(name string) string { return "zones:\n" + more(name) }
func more(name string) string { return "- {name: " + name + ", type: Node}\n" }

func listing(resource string) string {
	return "zones: [{name: node-0, type: Node, resources: [" + resource + "]}]"
}

func amounting(resource string, capacity, allocatable, available int64) zones.Node {
	return zones.Node{Zones: []zones.Zone{{
		Name: "node-0", Capacity: packing.Resources{resource: capacity},
		Allocatable: packing.Resources{resource: allocatable}, Available: packing.Resources{resource: available},
	}}}
}

func TestReadNamesTheFieldThatIsWrong(t *testing.T) {
	for fields, want := range map[string]string{
		"zones: 7":                                         "zones",
		"zones: [7]":                                       "zones",
		"zones: [{name: 7, type: Node}]":                   "zones.name",
		"zones: [{type: Node}]":                            "zones[0].name: Required",
		zone("node-0") + more("node-0"):                    "zones[1].name: Duplicate",
		"zones: [{name: a, type: [Node]}]":                 "zones.type",
		"attributes: {a: b}":                               "attributes",
		"attributes: [{name: a, value: 7}]":                "attributes.value",
		"topologyPolicies: Restricted":                     "topologyPolicies",
		listing("{capacity: 1}"):                           "zones[0].resources[0].name: Required",
		listing("{name: a}, {name: a}"):                    "zones[0].resources[1].name: Duplicate",
		listing("{name: a, capacity: much}"):               "zones[0].resources[0].capacity: Invalid",
		listing("{name: a, capacity: 1, allocatable: {}}"): "zones[0].resources[0].allocatable: Invalid",
		listing("{name: a, capacity: 1, available: true}"): "zones[0].resources[0].available: Invalid",
	} {
		if _, err := zones.Read(written(t, fields)); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%s: %v, want %s", fields, err, want)
		}
	}
}

func TestAHundredZones(t *testing.T) {
	list := make([]string, 100)
	for i := range list {
		list[i] = "4 gpu, 4 cpu"
	}
	n := node(t, "restricted container", list...)
	u := n.Usage(created(pod("x", "4 gpu"), pod("y", "6 gpu"), pod("z", "400 gpu")), nil)
	room := u.Room(zones.DemandOf(pod("p", "3 gpu")), math.MaxInt64)
	assert.Zero(t, room, "room for %d beside a pod that may be anywhere", room)
	for pods, want := range map[string]int64{"3 gpu": 63, "7 gpu": 7, "80 gpu": 0} {
		u := n.Usage(created(pod("x", "4 gpu")), nil)
		room := u.Room(zones.DemandOf(pod("p", pods)), math.MaxInt64)
		assert.Equal(t, want, room, "room for %d pods of %s, want %d", room, pods, want)
	}
}

// TestReadNeverPanics puts nonsense anywhere into an object, and uses what can be read.
func TestReadNeverPanics(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	nonsense := []any{nil, true, "", "x", "-1", "1e400", int64(-7), int64(math.MaxInt64), 1e300, 0.5, []any{}, []any{nil},
		map[string]any{}, "single-numa-node", "Node", "node-99999999999999999999", "cpu", "hugepages-"}
	var spoil func(value any) any
	spoil = func(value any) any {
		if random.IntN(30) == 0 {
			return nonsense[random.IntN(len(nonsense))]
		}
		switch value := value.(type) {
		case map[string]any:
			for key := range value {
				value[key] = spoil(value[key])
			}
		case []any:
			for i := range value {
				value[i] = spoil(value[i])
			}
		}
		return value
	}
	read := 0
	for range 5000 {
		object := topology("restricted pod", "4 gpu, 16 cpu, 64Gi memory", "4 gpu, 2 huge | 1 gpu, 1 huge")
		for _, field := range []string{"zones", "attributes", "topologyPolicies"} {
			object.Object[field] = spoil(object.Object[field])
		}
		n, err := zones.Read(object)
		if err != nil {
			continue
		}
		read++
		u := n.Usage(created(pod("x", "2 gpu"), pod("y", "1 cpu, 1 memory")), nil)
		for _, demand := range []*zones.Demand{zones.DemandOf(pod("z", "6 gpu, 1 nic")), zones.InOneZone(pod("z", "1 gpu"))} {
			never := n.Never(demand)
			assert.False(t, never != "" && n.Enforces() && u.Room(demand, 10) > 0, "%s, but there is room", never)
		}
	}
	assert.GreaterOrEqual(t, read, 500, "only %d objects could be read", read)
}
