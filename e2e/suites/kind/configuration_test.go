package kind_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
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

func TestConfigurationSaysOnlyWhatIsNeeded(t *testing.T) {
	for _, test := range []struct{ ownImage, withoutResource bool }{{false, false}, {true, false}, {false, true},
		{true, true}} {
		t.Run(fmt.Sprintf("own image %t, without capability %t", test.ownImage, test.withoutResource), func(
			t *testing.T) {
			var read struct {
				Nodes                   []struct{ Role string }
				Networking              struct{ KubeProxyMode string }
				KubeadmConfigPatches    []string
				ContainerdConfigPatches []string
			}
			require.NoError(t, yaml.Unmarshal([]byte(configurationOf(test.ownImage, test.withoutResource)), &read))
			if len(read.Nodes) != 4 {
				t.Errorf("the cluster has %d nodes, want 4", len(read.Nodes))
			}
			patches := strings.Join(read.KubeadmConfigPatches, "\n")
			if !strings.Contains(patches, "failCgroupV1: false") {
				t.Errorf("kubelets refuse cgroup v1: %s", patches)
			}
			if (read.Networking.KubeProxyMode == "none") != test.ownImage {
				t.Errorf("kube-proxy has the mode %q", read.Networking.KubeProxyMode)
			}
			restricted := strings.Contains(strings.Join(read.ContainerdConfigPatches, "\n"),
				"restrict_oom_score_adj = true")
			if restricted != test.withoutResource {
				t.Errorf("containerd is restricted: %t, want %t", restricted, test.withoutResource)
			}
		})
	}
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
