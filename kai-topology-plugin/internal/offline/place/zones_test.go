package place_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/offline/place"
)

// machine is a node of some zones; each pod that runs on it holds so many devices.
type machine struct {
	name, policy string
	// zones has the devices, or with cpus the CPUs, of each zone, and available what its agent reports of them, if it does.
	zones, available []int
	cpus             bool
	running          []int
	// without has zones that list no devices, and absent no NodeResourceTopology at all.
	without, absent bool
}

func (m machine) manifests() string {
	resource, total := "example.com/gpu", 0
	if m.cpus {
		resource = "cpu"
	}
	zones := make([]string, len(m.zones))
	for i, amount := range m.zones {
		total += amount
		available := amount
		if m.available != nil {
			available = m.available[i]
		}
		listed := fmt.Sprintf(`{name: %s, capacity: "%d", allocatable: "%d", available: "%d"}`, resource, amount, amount,
			available)
		if m.without {
			listed = `{name: memory, capacity: 1Gi, allocatable: 1Gi, available: 1Gi}`
		}
		zones[i] = fmt.Sprintf("{name: node-%d, type: Node, resources: [%s]}", i, listed)
	}
	amounts := map[string]int{"cpu": 64, resource: total}
	text := fmt.Sprintf(`---
{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {rack: r, kubernetes.io/hostname: %[1]s}},
 status: {allocatable: {cpu: "%[2]d", example.com/gpu: "%[3]d", memory: 64Gi, pods: "20"}}}
`, m.name, amounts["cpu"], amounts["example.com/gpu"])
	if !m.absent {
		text += fmt.Sprintf(`---
{apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology, metadata: {name: %s},
 attributes: [{name: topologyManagerPolicy, value: %s}, {name: topologyManagerScope, value: container}], zones: [%s]}
`, m.name, m.policy, strings.Join(zones, ", "))
	}
	for i, amount := range m.running {
		text += zonedPod(fmt.Sprintf("%s-%d", m.name, i), "", amount, m.cpus, m.name)
	}
	return text
}

// zonedPod is a pod that asks for devices, or with cpus for exclusive CPUs.
func zonedPod(name, gang string, amount int, cpus bool, node string) string {
	asked := fmt.Sprintf(`example.com/gpu: "%d"`, amount)
	if cpus {
		asked = fmt.Sprintf(`cpu: "%d", memory: 1Mi`, amount)
	}
	return fmt.Sprintf(`---
{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {pod-group-name: "%s"}},
 spec: {schedulerName: kai-scheduler, nodeName: "%s", containers: [{name: c, image: x, resources: {requests: {%s}, limits: {%s}}}]}}
`, name, gang, node, asked, asked)
}

func zonedGang(required, preferred string, minimum int, pods []int, cpus bool) string {
	text := fmt.Sprintf(`---
{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: g}, spec: {minMember: %d,
 topologyConstraint: {topology: net, requiredTopologyLevel: "%s", preferredTopologyLevel: "%s"}}}
`, minimum, required, preferred)
	for i, amount := range pods {
		text += zonedPod(fmt.Sprintf("g-%d", i), "g", amount, cpus, "")
	}
	return text
}

const zonedTopology = `{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: net}, spec: {levels: [
  {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}, {nodeLabel: example.com/any, alias: numa}]}}
`

func single(name string, zones ...int) machine {
	return machine{name: name, policy: "single-numa-node", zones: zones}
}

func (m machine) with(running ...int) machine {
	m.running = running
	return m
}

func TestPodsGoWhereTheirNUMAZonesHaveRoom(t *testing.T) {
	reports := func(m machine, available ...int) machine {
		m.available = available
		return m
	}
	of := func(policy string, m machine) machine {
		m.policy = policy
		return m
	}
	inCPUs := func(m machine) machine {
		m.cpus = true
		return m
	}
	none, unlisted := single("b", 8), single("b", 4, 4)
	none.absent, unlisted.without = true, true
	for name, c := range map[string]struct {
		machines            []machine
		required, preferred string
		minimum             int
		pods                []int
		cpus                bool
		want                map[string]string
		zones               []string
		says                []string
	}{
		"two free in one zone, and not one in each": {
			machines: []machine{single("a", 4, 4).with(3, 3), single("b", 4, 4).with(2, 4)},
			pods:     []int{2}, want: map[string]string{"g-0": "b"},
		},
		"as the agent reports it": {
			machines: []machine{reports(single("a", 4, 4).with(1, 1, 1, 1, 1, 1), 1, 1), single("b", 4, 4).with(2, 4)},
			pods:     []int{2}, want: map[string]string{"g-0": "b"},
		},
		"nowhere, and why": {
			machines: []machine{single("a", 4, 4).with(3, 3)}, pods: []int{2},
			says: []string{"1 × 2 example.com/gpu aligned by NUMA zone", "1 node excluded by NUMA zones too full"},
		},
		"nowhere, where most nodes lack devices": {
			machines: []machine{
				single("a", 4, 4).with(3, 3), of("none", single("b", 1)), of("none", single("c", 1)), of("none", single("d", 1)),
			},
			pods: []int{2}, says: []string{"1 node excluded by NUMA zones too full"},
		},
		"a report that is never renewed is not believed": {
			machines: []machine{single("a", 4, 4).with(3)}, pods: []int{3, 3}, minimum: 1,
			want: map[string]string{"g-0": "a"}, says: []string{"1 pod beyond the minimum waits"},
		},
		"a required zone where kubelets enforce it": {
			machines: []machine{
				single("full", 4, 4).with(4, 4), of("restricted", single("fits", 4, 4)),
				of("best-effort", single("effort", 4, 4)), of("none", single("none", 4, 4)),
			},
			required: "numa", pods: []int{2}, want: map[string]string{"g-0": "fits"}, zones: []string{"r/fits/node-0"},
		},
		"any node without a requirement": {
			machines: []machine{single("full", 4, 4).with(4, 4), of("best-effort", single("effort", 1, 1))},
			pods:     []int{2}, want: map[string]string{"g-0": "effort"},
		},
		"two pods of two on three and three": {
			machines: []machine{single("a", 4, 4).with(1, 4), single("b", 3, 3)}, minimum: 3, pods: []int{2, 2, 2},
			want: map[string]string{"g-0": "b", "g-1": "b", "g-2": "a"},
		},
		"not three pods of two on three and three": {
			machines: []machine{single("b", 3, 3)}, minimum: 3, pods: []int{2, 2, 2}, says: []string{"2 of 3 pods fit"},
		},
		"width by what zones have, and not by what is free": {
			machines: []machine{inCPUs(of("restricted", reports(single("a", 6, 6, 6).with(3, 3, 3), 3, 3, 3)))}, cpus: true, pods: []int{4},
			says: []string{"NUMA zones too full"},
		},
		"zone by zone where they are unequal": {
			machines: []machine{single("a", 2, 6).with(2), single("b", 4, 4).with(4, 3)}, pods: []int{4},
			want: map[string]string{"g-0": "a"},
		},
		"zones without the device are of no use": {
			machines: []machine{unlisted}, required: "numa", pods: []int{1},
			says: []string{"1 node excluded by NUMA zones without example.com/gpu"},
		},
		"a required zone where nothing is known": {
			machines: []machine{none}, required: "numa", pods: []int{1},
			says: []string{"1 node excluded by no NodeResourceTopology"},
		},
		"two pods in one zone": {
			machines: []machine{single("a", 4, 4).with(1, 1, 1, 4), single("b", 4, 4)}, required: "numa", minimum: 2,
			pods: []int{2, 2}, want: map[string]string{"g-0": "b", "g-1": "b"}, zones: []string{"r/b/node-0"},
		},
		"two pods that no one zone has": {
			machines: []machine{single("a", 4, 4)}, required: "numa", minimum: 2, pods: []int{3, 3},
			says: []string{"needs one NUMA zone", "its 2 pods do not fit together", "1 node excluded by NUMA zones too small"},
		},
		"the least that needs one zone, and no more": {
			machines: []machine{single("a", 4, 4)}, required: "numa", minimum: 1, pods: []int{3, 3},
			want: map[string]string{"g-0": "a"}, zones: []string{"r/a/node-0"},
		},
		"a preferred zone is no reason to wait": {
			machines: []machine{single("a", 4, 4)}, preferred: "numa", minimum: 2, pods: []int{3, 3},
			want: map[string]string{"g-0": "a", "g-1": "a"}, zones: []string{"r/a/node-0", "r/a/node-1"},
		},
		"a preferred zone that there is": {
			machines: []machine{single("a", 4, 4).with(2, 4), single("b", 4, 4)}, preferred: "numa", minimum: 2,
			pods: []int{2, 2}, want: map[string]string{"g-0": "b", "g-1": "b"}, zones: []string{"r/b/node-0"},
		},
		"pods of two demands share zones": {
			machines: []machine{single("a", 3, 3)}, minimum: 4, pods: []int{1, 2, 1, 2},
			want: map[string]string{"g-0": "a", "g-1": "a", "g-2": "a", "g-3": "a"},
		},
		"pods of two demands that do not": {
			machines: []machine{single("a", 3, 3), single("b", 3, 3)}, minimum: 4, pods: []int{1, 2, 2, 3},
			want: map[string]string{"g-0": "a", "g-1": "a", "g-2": "a", "g-3": "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			input := zonedTopology
			for _, m := range c.machines {
				input += m.manifests()
			}
			input += zonedGang(c.required, c.preferred, max(1, c.minimum), c.pods, c.cpus)
			done := run(t, input, "-f", "-")
			var printed struct {
				PodGroups []struct {
					Message     string
					Assignments map[string]string
					SubGroups   []struct{ Domains map[string][]string }
				}
			}
			require.NoError(t, json.Unmarshal([]byte(done.stdout), &printed), done.stderr)
			got := printed.PodGroups[0]
			if c.want == nil {
				c.want = map[string]string{}
			}
			assert.Empty(t, cmp.Diff(c.want, got.Assignments), "%s", got.Message)
			zones := got.SubGroups[0].Domains["example.com/any"]
			assert.False(t, c.zones != nil && !cmp.Equal(c.zones, zones), "zones %v, want %v", zones, c.zones)
			for _, text := range c.says {
				assert.Contains(t, got.Message, text, "%q does not say %q", got.Message, text)
			}
		})
	}
}

// free is what first-fit leaves in the zones of a machine, which is how kubelets choose.
func (m machine) free() []int {
	free := slices.Clone(m.zones)
	for _, amount := range m.running {
		at := slices.IndexFunc(free, func(left int) bool { return left >= amount })
		free[at] -= amount
	}
	return free
}

// admit tries every zone for every pod. In is the machine of each pod, -1 if any will do.
func admit(free [][]int, pods, in []int, together bool) bool {
	if len(pods) == 0 {
		return true
	}
	amount := pods[0]
	if together {
		for _, other := range pods[1:] {
			amount += other
		}
	}
	for m := range free {
		if in[0] >= 0 && in[0] != m {
			continue
		}
		for z := range free[m] {
			if free[m][z] < amount {
				continue
			}
			free[m][z] -= amount
			fits := together || admit(free, pods[1:], in[1:], false)
			free[m][z] += amount
			if fits {
				return true
			}
		}
	}
	return false
}

// Nothing is refused that fits zone by zone, and nothing is placed that does not.
func TestZonesAreRespectedAsByTryingAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		input, free := zonedTopology, [][]int{}
		for i := range rapid.IntRange(1, 3).Draw(rt, "machines") {
			m := single(fmt.Sprintf("m%d", i), rapid.SliceOfN(rapid.IntRange(1, 4), 2, 2).Draw(rt, "zones")...)
			for range rapid.IntRange(0, 3).Draw(rt, "running") {
				amount := rapid.IntRange(1, 2).Draw(rt, "amount")
				if slices.Max(m.free()) >= amount {
					m.running = append(m.running, amount)
				}
			}
			input, free = input+m.manifests(), append(free, m.free())
		}
		pods := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 5).Draw(rt, "pods")
		required := rapid.SampledFrom([]string{"", "", "numa"}).Draw(rt, "required")
		anywhere := slices.Repeat([]int{-1}, len(pods))
		input += zonedGang(required, "", len(pods), pods, false)
		done := run(t, input, "-f", "-")
		var printed place.Result
		require.NoError(rt, json.Unmarshal([]byte(done.stdout), &printed), done.stderr)
		got := printed.PodGroups[0]
		fits := admit(free, pods, anywhere, required != "")
		require.Equal(rt, got.Verdict == "Placed", fits, "%s, and it fits (%s)\n%s", got.Verdict, got.Message, input)
		if !fits {
			return
		}
		for i := range pods {
			_, err := fmt.Sscanf(got.Assignments[fmt.Sprintf("g-%d", i)], "m%d", &anywhere[i])
			require.NoError(rt, err)
		}
		require.True(rt, admit(free, pods, anywhere, required != ""), "a kubelet rejects %v\n%s", got.Assignments, input)
	})
}
