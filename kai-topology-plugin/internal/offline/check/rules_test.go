package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// mixed is a gang of pods that ask for different things and have rules about each other, on two nodes of a rack and one
// of another.
const mixed = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: net}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {example.com/rack: r1, kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "8", example.com/gpu: "2"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {example.com/rack: r1, kubernetes.io/hostname: n2}}
status: {allocatable: {cpu: "8"}}
---
apiVersion: v1
kind: Node
metadata: {name: n3, labels: {example.com/rack: r2, kubernetes.io/hostname: n3}}
status: {allocatable: {cpu: "8"}}
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g}
spec: {minMember: 3}
---
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {pod-group-name: g}, labels: {app: big}}
spec: {containers: [{name: c, image: c, resources: {limits: {example.com/gpu: "2"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: second, annotations: {pod-group-name: g}}
spec:
  containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: big}}}
---
apiVersion: v1
kind: Pod
metadata: {name: third, annotations: {pod-group-name: g}}
spec:
  containers: [{name: c, image: c}]
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: example.com/rack, labelSelector: {matchLabels: {app: big}}}
`

func TestRulesOfUnlikePodsAreThoseOfEach(t *testing.T) {
	manifests := saved(t, mixed)
	answer := answered(t, manifests)
	got := checked(t, answer, manifests)
	require.Zero(t, got.code, "what place says is turned down: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	nodes := field(answer, "podGroups", 0, "assignments").(map[string]any)
	if nodes["third"] != "n3" {
		t.Fatalf("the test needs the third pod elsewhere than beside the first: %v", nodes)
	}
	nodes["third"] = "n2"
	groups := field(answer, "podGroups", 0, "subGroups", 0).(map[string]any)
	groups["domains"] = map[string]any{}
	const want = "PodGroup default/g: pod third is turned away by pod affinity or anti-affinity, " +
		"on node n2 as on others of its domain\n"
	if got := checked(t, answer, manifests); got.code != 3 || got.stdout != want {
		t.Errorf("a pod in the rack that it shuns: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
