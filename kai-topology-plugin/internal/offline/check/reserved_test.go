package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoomThatIsSaidToBeReserved(t *testing.T) {
	const manifests = "../place/testdata/followers.yaml"
	for name, test := range map[string]struct {
		tamper func(reserved map[string]any)
		want   string
	}{
		"is needed for the proof": {
			func(reserved map[string]any) { clear(reserved) },
			"its certificate: the certificate does not prove that no placement exists",
		},
		"for a pod of another input": {
			func(reserved map[string]any) { reserved["default/x"] = "z1-r1-n1" },
			`its certificate: it takes room for reserved for pod "default/x", which is neither in the input nor expected`,
		},
		"for a pod that follows nobody": {
			func(reserved map[string]any) { reserved["default/infer-0-passer-by-0"] = "z1-r1-n1" },
			`its certificate: it takes room for reserved for PodGroup`,
		},
		"where the pods that follow could not go": {
			func(reserved map[string]any) {
				for pod := range reserved {
					reserved[pod] = "no-such-node"
				}
			},
			`its certificate: it takes room for reserved for PodGroup`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := answered(t, cluster, manifests)
			var reserved map[string]any
			for i := range answer["podGroups"].([]any) {
				if certificate, has := field(answer, "podGroups", i, "certificate").(map[string]any); has {
					if room, has := certificate["reserved"].(map[string]any); has {
						reserved = room
					}
				}
			}
			require.NotEmpty(t, reserved, "no certificate has reserved room")
			test.tamper(reserved)
			if got := checked(t, answer, cluster, manifests); got.code != 3 || !strings.Contains(got.stdout, test.want) {
				t.Errorf("exit code %d\n%s%s\nwant %s", got.code, got.stdout, got.stderr, test.want)
			}
		})
	}
}

// refused is a gang that has no room only because a-first-of-two of expected.yaml is expected to have a second pod.
const refused = `
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: d-refused, creationTimestamp: "2026-01-04T00:00:00Z"}
spec: {minMember: 1, topologyConstraint: {topology: cluster-topology, requiredTopologyLevel: topology/rack}}
---
apiVersion: v1
kind: Pod
metadata: {name: refused, annotations: {pod-group-name: d-refused}}
spec:
  nodeSelector: {topology/zone: z1}
  containers: [{name: c, image: c, resources: {requests: {example.com/gpu: "4"}, limits: {example.com/gpu: "4"}}}]
`

func TestRoomForPodsThatAreExpected(t *testing.T) {
	const expected = "default/first (expected 1)"
	for name, test := range map[string]struct {
		tamper func(reserved map[string]any)
		want   string
	}{
		"is needed for the proof":      {func(reserved map[string]any) { clear(reserved) }, "does not prove"},
		"is verified":                  {func(map[string]any) {}, ""},
		"of more than are expected":    {func(reserved map[string]any) { reserved["default/first (expected 2)"] = "z1-r2-n2" }, "nor expected"},
		"where they could not be":      {func(reserved map[string]any) { reserved[expected] = "z2-r1-n1" }, "it takes room for reserved for PodGroup default/a-first-of-two: "},
		"for a pod that has its place": {func(reserved map[string]any) { reserved["default/next"] = "z1-r1-n2" }, "it takes room for reserved for PodGroup default/b-next: "},
	} {
		t.Run(name, func(t *testing.T) {
			files := []string{cluster, "../place/testdata/expected.yaml", saved(t, refused)}
			answer := answered(t, files...)
			reserved, has := field(answer, "podGroups", 3, "certificate", "reserved").(map[string]any)
			require.True(t, has, "reserved is %v", reserved)
			require.NotNil(t, reserved[expected], "reserved is %v", reserved)
			test.tamper(reserved)
			got := checked(t, answer, files...)
			if (got.code == 0) != (test.want == "") || !strings.Contains(got.stdout, test.want) {
				t.Errorf("exit code %d\n%s%s\nwant %s", got.code, got.stdout, got.stderr, test.want)
			}
		})
	}
}
