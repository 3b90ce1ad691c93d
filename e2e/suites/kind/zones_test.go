package kind_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"
)

// zonedNode is alone in its rack. For a while its kubelet has two NUMA zones.
const zonedNode = clusterName + "-worker3"

// zones has a real kubelet choose NUMA zones. An agent that reports them is played by the test.
func zones() *features.FeatureBuilder {
	zone := func(device string) string { return zonedNode + "/node-" + device[:1] }
	return features.New("NUMA zones").
		Assess("a kubelet aligns pods in two zones", inTwoZones("do")).
		Assess("the kind of agents, devices and a level are there", says("apply", "-f", testdata("zones.yaml"))).
		Assess("the node offers the devices", says("wait", "node", zonedNode,
			`--for=jsonpath={.status.allocatable.example\.com/device}=8`, timeout)).
		Assess("an agent reports them", reports(4, 4)).
		Assess("two gangs ask for three of four devices", isTaken(testdata("zone-each.yaml"))).
		Assess("they run", isAvailable("threes", 2)).
		Assess("in a zone each, which is the one of their PodGroup", areIn("threes", func(devices []string) []string {
			return []string{zone(devices[0]), zone(devices[3])}
		})).
		Assess("a third asks for two", isTaken(testdata("zone-full.yaml"))).
		Assess("two devices are free, but not in one zone", groupSays("two-0", "excluded by NUMA zones too full")).
		Assess("one of the gangs ends", says("scale", "podcliqueset", "threes", "--replicas=1")).
		Assess("the third runs", isAvailable("two", 1)).
		Assess("both go", says("delete", "podcliqueset", "threes", "two", timeout)).
		Assess("two pods are to share a zone, and one asks for a whole CPU", isTaken(testdata("zone-shared.yaml"))).
		Assess("they run", isAvailable("shared", 1)).
		Assess("all devices of the two are in one zone", areIn("shared", func(devices []string) []string {
			return []string{zone(devices[0])}
		})).
		Assess("the CPU is in the zone of the third's device", hasCPUOfItsZone("shared-0-pinned")).
		Assess("they go", says("delete", "podcliqueset", "shared", timeout)).
		Assess("an agent reports eight devices in one zone, which are in two", reports(8, 0)).
		Assess("a gang asks for five in one zone", isTaken(testdata("zone-rejected.yaml"))).
		Assess("it says that the kubelet rejected a pod", groupSays("stubborn-0",
			"1 node excluded by a kubelet that rejected such a pod for its NUMA zones")).
		Assess("one pod was rejected, and an event says what was predicted", rejectedOnce("stubborn-0")).
		Assess("an agent reports the devices where they are", reports(4, 4)).
		Assess("it says that no zone is large enough", groupSays("stubborn-0", "NUMA zones too small")).
		Assess("it goes", says("delete", "podcliqueset", "stubborn", timeout)).
		Assess("all else goes", says("delete", "-f", testdata("zones.yaml"), timeout)).
		Assess("the kubelet is as before", inTwoZones("undo"))
}

// inTwoZones runs testdata/two-zones.sh on the node.
func inTwoZones(verb string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		script, err := os.ReadFile(filepath.Join(root, testdata("two-zones.sh")))
		require.NoError(t, err)
		command := exec.CommandContext(ctx, "docker", "exec", "-i", zonedNode, "bash", "-s", verb)
		command.Stdin = bytes.NewReader(script)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, output)
		}
		until(ctx, t, "the kubelet serves its configuration", func(ctx context.Context) (bool, string, error) {
			policy, _, err := kubeletPolicy(ctx)
			return (policy == "single-numa-node") == (verb == "do"), policy, err
		})
		return ctx
	}
}

func kubeletPolicy(ctx context.Context) (policy, scope string, err error) {
	said, err := kubectl(ctx, "get", "--raw", "/api/v1/nodes/"+zonedNode+"/proxy/configz")
	if err != nil {
		return "", "", err
	}
	var answer struct {
		KubeletConfig struct {
			TopologyManagerPolicy, TopologyManagerScope string
		} `json:"kubeletconfig"`
	}
	err = json.Unmarshal([]byte(said), &answer)
	return answer.KubeletConfig.TopologyManagerPolicy, answer.KubeletConfig.TopologyManagerScope, err
}

// reports writes the NodeResourceTopology of the node, with as many devices in each zone, and the CPUs that containers
// can have for themselves. No device is said to be available, as by an agent that does not look at pods.
func reports(devices ...int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		policy, scope, err := kubeletPolicy(ctx)
		require.NoError(t, err)
		object := fmt.Sprintf(`apiVersion: topology.node.k8s.io/v1alpha2
kind: NodeResourceTopology
metadata: {name: %s}
attributes: [{name: topologyManagerPolicy, value: %s}, {name: topologyManagerScope, value: %s}]
zones:
`, zonedNode, policy, scope)
		for zone, count := range devices {
			cpus := len(cpusOf(ctx, t, zone))
			if zone == 0 {
				cpus-- // The kubelet reserves the first.
			}
			object += fmt.Sprintf(`- name: node-%d
  type: Node
  resources:
  - {name: example.com/device, capacity: "%d", allocatable: "%d"}
  - {name: cpu, capacity: "%d", allocatable: "%d"}
`, zone, count, count, cpus, cpus)
		}
		file := filepath.Join(t.TempDir(), "zones.yaml")
		require.NoError(t, os.WriteFile(file, []byte(object), 0o600))
		answer(ctx, t, "apply", "-f", file)
		return ctx
	}
}

// cpusOf are the CPUs of a zone of the node.
func cpusOf(ctx context.Context, t *testing.T, zone int) (cpus []string) {
	t.Helper()
	output, err := exec.CommandContext(ctx, "docker", "exec", zonedNode, "ls",
		fmt.Sprintf("/sys/devices/system/node/node%d", zone)).Output()
	require.NoError(t, err)
	for _, name := range strings.Fields(string(output)) {
		if cpu, found := strings.CutPrefix(name, "cpu"); found {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// inside is what a command prints in a pod.
func inside(ctx context.Context, t *testing.T, pod, script string) string {
	t.Helper()
	return strings.TrimSpace(answer(ctx, t, "exec", pod, "--", "sh", "-c", script))
}

func podsOf(ctx context.Context, t *testing.T, selector string) []string {
	t.Helper()
	return strings.Fields(answer(ctx, t, "get", "pods", "--selector="+selector, "-o",
		"jsonpath={.items[*].metadata.name}"))
}

// areIn compares where the devices of a set's cliques "worker" are with the zones of its PodGroups. Containers know
// their devices from the kubelet.
func areIn(set string, want func(devices []string) []string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		var devices, zones []string
		for _, pod := range podsOf(ctx, t, "app.kubernetes.io/part-of="+set) {
			if strings.Contains(pod, "-worker-") {
				devices = append(devices, strings.Split(inside(ctx, t, pod, "echo $DEVICES"), ",")...)
			}
		}
		slices.Sort(devices)
		until(ctx, t, "PodGroups have the zones of the devices", func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "podgroups", "-o",
				`jsonpath={range .items[*].status.subGroups[*]}{.domains.topology\.packtree\.dev/numa[*]}{"\n"}{end}`)
			zones = nil
			for _, path := range strings.Fields(said) {
				zones = append(zones, strings.TrimPrefix(path, "rack-2/"))
			}
			slices.Sort(zones)
			zones = slices.Compact(zones)
			missing := slices.ContainsFunc(want(devices), func(zone string) bool { return !slices.Contains(zones, zone) })
			return !missing, fmt.Sprint(zones, devices), err
		})
		return ctx
	}
}

// allowedCPUs prints the CPUs of a container that has nothing but a shell.
const allowedCPUs = `while read name value; do
	case $name in Cpus_allowed_list:) echo $value;; esac
done </proc/self/status`

// hasCPUOfItsZone is for a pod of a clique with one device and one CPU.
func hasCPUOfItsZone(clique string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		pods := podsOf(ctx, t, "grove.io/podclique="+clique)
		if len(pods) != 1 {
			t.Fatalf("pods are %q, want one", pods)
		}
		device := inside(ctx, t, pods[0], "echo $DEVICES")
		cpu := inside(ctx, t, pods[0], allowedCPUs)
		zone := int(device[0] - '0')
		if cpus := cpusOf(ctx, t, zone); !slices.Contains(cpus, cpu) {
			t.Errorf("the CPU is %s, and those of zone %d are %q", cpu, zone, cpus)
		}
		return ctx
	}
}

// groupSays waits until a PodGroup says something of why it waits.
func groupSays(name, what string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		until(ctx, t, "the PodGroup "+name+" says "+what, func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "podgroup", name, "-o",
				`jsonpath={.status.conditions[?(@.type=="Scheduled")].message}`)
			return strings.Contains(said, what), said, err
		})
		return ctx
	}
}

// rejectedOnce counts the pods that the kubelet rejected.
func rejectedOnce(group string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		rejected := strings.Fields(answer(ctx, t, "get", "events", "--field-selector=reason=TopologyAffinityError", "-o",
			"jsonpath={.items[*].involvedObject.name}"))
		if len(rejected) != 1 {
			t.Errorf("the kubelet rejected %q, want one pod", rejected)
		}
		until(ctx, t, "an event says what was predicted", func(ctx context.Context) (bool, string, error) {
			said, err := kubectl(ctx, "get", "events",
				"--field-selector=reason=ZoneMispredicted,involvedObject.name="+group, "-o", "jsonpath={.items[*].message}")
			return strings.Contains(said, zonedNode) && strings.Contains(said, "NUMA zone node-0"), said, err
		})
		return ctx
	}
}
