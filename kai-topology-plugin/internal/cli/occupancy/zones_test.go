package occupancy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/occupancy"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	"packtree.dev/shared/podgrouptree"
)

// twoZones is a node of two NUMA zones, with a pod that has two of the devices of one. It is completed by the spec of
// the node and the policy of its kubelet.
const twoZones = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {l/rack: r, l/host: h, kubernetes.io/hostname: n1}}
spec: {%s}
status: {allocatable: {cpu: "4", nvidia.com/gpu: "8", pods: "9"}}
---
apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: n1}
attributes: [{name: topologyManagerPolicy, value: %s}]
zones:
- name: node-0
  type: Node
  resources: [{name: nvidia.com/gpu, capacity: "4", available: "4"}, {name: cpu, capacity: 2500m}]
- name: node-1
  type: Node
  resources: [{name: nvidia.com/gpu, capacity: "4", available: "1"}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, uid: p}
spec: {nodeName: n1, containers: [{name: c, resources: {requests: {nvidia.com/gpu: "2"}, limits: {nvidia.com/gpu: "2"}}}]}
`

func TestZonesOfNodes(t *testing.T) {
	rack, host, numa := podgrouptree.Level{Key: "l/rack"}, podgrouptree.Level{Key: corev1.LabelHostname},
		podgrouptree.Level{Key: "l/numa", Alias: "numa"}
	for name, test := range map[string]struct {
		spec, policy string
		levels       podgrouptree.Hierarchy
		resource     corev1.ResourceName
		want         []string
	}{
		"pods are counted where the kubelet puts them": {
			policy: "single-numa-node", levels: podgrouptree.Hierarchy{rack, host, numa}, resource: "nvidia.com/gpu",
			want: []string{"l/numa r/n1/node-0: 2+2+0 of 4", "l/numa r/n1/node-1: 0+4+0 of 4"},
		},
		"of a kubelet that takes pods whatever their zones, the node says what is free": {
			policy: "none", levels: podgrouptree.Hierarchy{rack, host, numa}, resource: "nvidia.com/gpu",
			want: []string{"l/numa r/n1/node-0: 0+4+0 of 4", "l/numa r/n1/node-1: 3+1+0 of 4"},
		},
		"nothing is free of a node that takes no pods": {
			spec: "unschedulable: true", policy: "restricted", levels: podgrouptree.Hierarchy{numa},
			resource: "nvidia.com/gpu",
			want:     []string{"l/numa n1/node-0: 2+0+2 of 4", "l/numa n1/node-1: 0+0+4 of 4"},
		},
		"CPUs are whole ones": {
			policy: "restricted", levels: podgrouptree.Hierarchy{rack, numa}, resource: "cpu",
			want: []string{"l/numa r/n1/node-0: 0+2.5+0 of 2.5", "l/numa r/n1/node-1: 0+0+0 of 0"},
		},
		"a topology without the level has none": {
			policy: "restricted", levels: podgrouptree.Hierarchy{rack, host}, resource: "nvidia.com/gpu",
		},
		"a node that lacks a label has none": {
			policy: "restricted", levels: podgrouptree.Hierarchy{{Key: "l/row"}, numa}, resource: "nvidia.com/gpu",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := testsupport.Inventory(t, fmt.Sprintf(twoZones, test.spec, test.policy))
			drawn := occupancy.Of(cluster, test.levels, test.resource, func(gang.Key) bool { return true })
			at := drawn
			for len(at.Domains) > 0 {
				at = at.Domains[0]
			}
			var got []string
			for _, zone := range at.Zones {
				got = append(got, fmt.Sprintf("%s %s: %v+%v+%v of %v", zone.Level, zone.Path, zone.Used, zone.Free,
					zone.Unavailable, zone.Total))
			}
			assert.Empty(t, cmp.Diff(test.want, got), "zones (-want +got)")
		})
	}
}
