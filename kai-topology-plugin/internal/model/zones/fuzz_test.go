package zones_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/mutants"
)

const fuzzed = `{"metadata": {"name": "n"}, "topologyPolicies": ["SingleNUMANodePodLevel"],
"attributes": [{"name": "topologyManagerPolicy", "value": "restricted"}, {"name": "topologyManagerScope", "value": "pod"}],
"zones": [{"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "8", "allocatable": "7", "available": "5"},
{"name": "memory", "capacity": "16Gi", "available": "9Gi"}, {"name": "nvidia.com/gpu", "capacity": "4", "available": 1}]},
{"name": "node-1", "type": "Node", "resources": [{"name": "cpu", "capacity": "8"}, {"name": "nvidia.com/gpu", "capacity": 4}]},
{"name": "core-0", "type": "Core"}]}`

// FuzzZones: whatever an agent reports of a node, it is refused or counted; a pod that is admitted is counted, and what
// it held is free again when it is gone.
func FuzzZones(f *testing.F) {
	var seed any
	require.NoError(f, json.Unmarshal([]byte(fuzzed), &seed))
	amounts := []string{"1 gpu", "2 gpu, 3 cpu", "5 cpu, 1Gi memory", "4 gpu, 8 cpu", "0 cpu", "9 gpu"}
	f.Add([]byte(nil), uint8(0))
	f.Fuzz(func(t *testing.T, program []byte, asked uint8) {
		object := &unstructured.Unstructured{}
		if json.Unmarshal(mutants.JSON(mutants.Of(seed, nil, program)), &object.Object) != nil || object.Object == nil {
			return
		}
		node, err := zones.Read(object)
		if err != nil {
			return
		}
		standing := []*corev1.Pod{pod("x", amounts[asked%6]), pod("y", amounts[asked/6%6])}
		usage, demand := node.Usage(standing, nil), zones.DemandOf(pod("p", amounts[asked/36%6]))
		_, _ = node.Never(demand), node.Usage(nil, nil)
		room := usage.Room(demand, 3)
		held, admitted := usage.Admit(demand)
		require.Equal(t, room > 0, admitted, "room for %d, and one more is admitted", room)
		if _ = held.In(node); usage == nil || !admitted {
			return
		}
		usage.Add(types.UID("p"), demand, held)
		usage.Remove(types.UID("p"))
		again := usage.Room(demand, 3)
		require.Equal(t, room, again, "room for %d, and for %d once a pod is gone", room, again)
	})
}
