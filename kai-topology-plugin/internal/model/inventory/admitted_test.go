package inventory_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPodsThatTheAPIServerWouldRejectAreNotRead(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}], "
	for name, c := range map[string]struct{ manifest, want string }{
		"a node of no name that there can be": {
			"apiVersion: v1\nkind: Node\nmetadata: {name: node_1}",
			`Node node_1: metadata.name: Invalid value: "node_1": a lowercase`,
		},
		"a pod of no name that there can be": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: Pod-A}",
			`Pod default/Pod-A: metadata.name: Invalid value: "Pod-A": a lowercase`,
		},
		"a pod in no namespace that there can be": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: team-ä}",
			`Pod team-ä/a: metadata.namespace: Invalid value: "team-ä": a lowercase`,
		},
		"a PodGroup of no name that there can be": {
			"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: Odd_1}\nspec: {minMember: 1}",
			`PodGroup default/Odd_1: metadata.name: Invalid value: "Odd_1": a lowercase`,
		},
		"a pod that would free what others use": {
			pod + "overhead: {cpu: '-1'}}", `spec.overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
		},
		"a container that would": {
			strings.Replace(pod, "{name: c}", "{name: c, resources: {requests: {memory: '-1Gi'}}}", 1) + "}",
			`spec.containers[0].resources.requests[memory]: Invalid value: "-1Gi": must be greater`,
		},
		"half a device": {
			strings.Replace(pod, "{name: c}", "{name: c, resources: {limits: {example.com/gpu: 500m}}}", 1) + "}",
			`spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer`,
		},
		"a node that offers less than nothing": {
			"apiVersion: v1\nkind: Node\nmetadata: {name: one}\nstatus: {allocatable: {cpu: '-1'}}",
			`status.allocatable[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, findings := read(t, c.manifest); len(findings) != 1 || !strings.Contains(findings[0].String(), c.want) {
				t.Errorf("findings %v, want %s", findings, c.want)
			}
		})
	}
}

func TestPodsWithGeneratedNamesAreTwo(t *testing.T) {
	const pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: train-}\n"
	cluster, findings := read(t, pod+pod)
	require.Empty(t, findings)
	require.Len(t, cluster.Pods, 2)
	one, other := cluster.Pods[0], cluster.Pods[1]
	if one.Name == other.Name || one.UID == other.UID || !strings.HasPrefix(one.Name, "train-") {
		t.Errorf("they are called %q and %q", one.Name, other.Name)
	}
	again, _ := read(t, pod+pod)
	assert.Equal(t, one.Name, again.Pods[0].Name, "who reads them again calls them otherwise")
	assert.Equal(t, other.Name, again.Pods[1].Name, "who reads them again calls them otherwise")
}
