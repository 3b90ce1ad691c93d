package kind_test

import (
	"strconv"
	"strings"
	"testing"
)

// configurationOf is kind's configuration: a node for the control plane, and three in two racks. A node that does not
// answer is noticed soon. The project's own image of a node contains kube-proxy itself, not its image. Without
// CAP_SYS_RESOURCE no process may lower the score by which the kernel chooses which process to kill.
func configurationOf(ownImage, withoutResource bool) string {
	configuration := `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
- role: worker
  labels: {topology.kubernetes.io/zone: zone-1, topology.packtree.dev/block: block-1, topology.packtree.dev/rack: rack-1}
- role: worker
  labels: {topology.kubernetes.io/zone: zone-1, topology.packtree.dev/block: block-1, topology.packtree.dev/rack: rack-1}
- role: worker
  labels: {topology.kubernetes.io/zone: zone-1, topology.packtree.dev/block: block-1, topology.packtree.dev/rack: rack-2}
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  failCgroupV1: false
- |
  apiVersion: kubeadm.k8s.io/v1beta4
  kind: ClusterConfiguration
  controllerManager: {extraArgs: [{name: node-monitor-grace-period, value: 40s}]}
`
	if ownImage {
		configuration += "networking: {kubeProxyMode: none}\n"
	}
	if withoutResource {
		configuration +=
			"containerdConfigPatches:\n- |-\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n    restrict_oom_score_adj = true\n"
	}
	return configuration
}

// lacksResource reads /proc/<pid>/status: bit 24 of the bounding set is CAP_SYS_RESOURCE.
func lacksResource(status string) bool {
	const capability = 24
	for line := range strings.Lines(status) {
		if set, found := strings.CutPrefix(line, "CapBnd:"); found {
			bits, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return err == nil && bits>>capability&1 == 0
		}
	}
	return false
}

func TestAMissingCapabilityIsSeen(t *testing.T) {
	for claim, test := range map[string]struct {
		status string
		lacks  bool
	}{
		"all are there":             {"Name:\tx\nCapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\n", false},
		"this one alone is missing": {"Name:\tx\nCapBnd:\t000001fffeffffff\n", true},
		"a container's few":         {"CapBnd:\t00000000a80425fb\n", true},
		"nothing is known":          {"Name:\tx\n", false},
	} {
		t.Run(claim, func(t *testing.T) {
			if got := lacksResource(test.status); got != test.lacks {
				t.Errorf("CAP_SYS_RESOURCE is missing: %t, want %t", got, test.lacks)
			}
		})
	}
}
