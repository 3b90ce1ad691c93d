package zones_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

// TestNodesForPods is what users are told of nodes that are compared with each other.
func TestNodesForPods(t *testing.T) {
	four := []string{"4 gpu", "4 gpu"}
	full := created(pod("x", "4 gpu"), pod("y", "4 gpu"))
	three := created(pod("x", "3 gpu"), pod("y", "3 gpu"))
	one := zones.InOneZone(pod("p", "2 gpu"), pod("q", "2 gpu"))
	for name, c := range map[string]struct {
		policy string
		zones  []string
		pods   []*corev1.Pod
		demand *zones.Demand
		room   int64
		never  string
	}{
		"1 + 1 free of 4 + 4 are not 2":                         {"single-numa-node container", four, three, zones.DemandOf(pod("p", "2 gpu")), 0, ""},
		"2 + 0 free are":                                        {"single-numa-node container", four, created(pod("x", "2 gpu"), pod("y", "4 gpu")), zones.DemandOf(pod("p", "2 gpu")), 1, ""},
		"two pods of 3 fit, whatever is reported":               {"single-numa-node container", []string{"4 gpu | 4 gpu", "4 gpu | 4 gpu"}, nil, zones.DemandOf(pod("p", "3 gpu")), 2, ""},
		"and no third":                                          {"single-numa-node container", []string{"4 gpu | 4 gpu", "4 gpu | 4 gpu"}, three, zones.DemandOf(pod("p", "3 gpu")), 0, ""},
		"pods in one zone, on a full node":                      {"single-numa-node container", four, full, one, 0, ""},
		"pods in one zone, restricted":                          {"restricted container", four, nil, one, 2, ""},
		"pods in one zone, best effort":                         {"best-effort container", four, nil, one, 0, "Topology Manager policy best-effort"},
		"pods in one zone, none":                                {"none container", four, nil, one, 0, "Topology Manager policy none"},
		"other pods, best effort, full by zone":                 {"best-effort container", four, three, zones.DemandOf(pod("p", "2 gpu")), 99, ""},
		"3 + 3 free hold two pods of 2, not three":              {"single-numa-node container", []string{"3 gpu", "3 gpu"}, nil, zones.DemandOf(pod("p", "2 gpu")), 2, ""},
		"width 1 by what is allocatable: two zones do not help": {"restricted container", []string{"6 cpu", "6 cpu", "6 cpu"}, created(pod("x", "3 cpu, 1 memory"), pod("y", "4 cpu, 1 memory"), pod("z", "4 cpu, 1 memory")), zones.DemandOf(pod("p", "4 cpu, 1 memory")), 0, ""},
		"memory zone by zone, where one has less":               {"single-numa-node container", []string{"8 cpu, 10Gi memory", "8 cpu, 16Gi memory"}, nil, zones.DemandOf(pod("p", "1 cpu, 6Gi memory")), 3, ""},
		"GPUs that the zones lack, in one zone":                 {"single-numa-node container", []string{"8 cpu", "8 cpu"}, nil, one, 0, "NUMA zones without nvidia.com/gpu"},
		"GPUs that the zones lack":                              {"single-numa-node container", []string{"8 cpu", "8 cpu"}, nil, zones.DemandOf(pod("p", "2 gpu")), 99, ""},
	} {
		n := node(t, c.policy, c.zones...)
		got := n.Usage(c.pods, nil).Room(c.demand, 99)
		assert.False(t, got != c.room && c.never == "", "%s: room for %d, want %d", name, got, c.room)
		assert.Equal(t, c.never, n.Never(c.demand), "%s: never", name)
	}
}
