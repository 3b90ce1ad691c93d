package offline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/dynamo-operator/internal/offline"
	"packtree.dev/shared/golden"
	"packtree.dev/shared/manifests"
)

// Each folder of testdata holds an input and its expected output, to be read by people. A second input has the same in
// another version.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input*.yaml")
	require.NoError(t, err, "no test data")
	require.NotEmpty(t, inputs, "no test data")
	for _, input := range inputs {
		directory := filepath.Dir(input)
		t.Run(strings.TrimPrefix(input, "testdata/"), func(t *testing.T) {
			content, err := os.ReadFile(input)
			require.NoError(t, err)
			golden.Equal(t, filepath.Join(directory, "output.yaml"), rendered(t, string(content)))
		})
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	content, err := os.ReadFile("testdata/vllm-disaggregated-multinode/input.yaml")
	require.NoError(t, err)
	first := rendered(t, string(content))
	for range 20 {
		require.Empty(t, cmp.Diff(first, rendered(t, string(content))), "(-first +then)")
	}
}

func TestNUMAZonesAreALevelAsOthers(t *testing.T) {
	const topology = "\n---\napiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: grove-topology}\n" +
		"spec: {levels: [{domain: rack, key: a/rack}, {domain: numa, key: a/socket}]}"
	const deployment = "kind: DynamoGraphDeployment\nmetadata: {name: d, namespace: ns}\n" +
		"spec: {topologyConstraint: {packDomain: rack, preferredDomain: numa}, "
	for version, parts := range map[string]string{
		"v1alpha1": "services: [{name: A, topologyConstraint: {packDomain: numa}, " +
			"extraPodSpec: {mainContainer: {image: i}}}]}",
		"v1beta1": "components: [{name: A, topologyConstraint: {packDomain: numa}, " +
			"podTemplate: {spec: {containers: [{name: main, image: i}]}}}]}",
	} {
		made := rendered(t, "apiVersion: nvidia.com/"+version+"\n"+deployment+parts+topology)
		for _, want := range []string{"packDomain: numa", "preferred: numa"} {
			assert.Equal(t, 1, strings.Count(made, want), "%s: not one %q in:\n%s", version, want, made)
		}
	}
}

func TestWhatIsTurnedDown(t *testing.T) {
	const good = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: d, namespace: ns}\n"
	for name, c := range map[string]struct{ input, want string }{
		"a field that does not exist": {
			good + "spec: {services: [{name: A, replcas: 1}]}",
			`in[1]: DynamoGraphDeployment ns/d: spec.services[0].replcas: unknown field, did you mean "replicas"?`,
		},

		"a topology that is not in the input": {
			good +
				"spec: {topologyConstraint: {packDomain: rack}, services: [{name: A, extraPodSpec: {mainContainer: {image: i}}}]}",
			`in[1]: DynamoGraphDeployment ns/d: spec.topologyConstraint.packDomain: Invalid value: "rack": ClusterTopology "grove-topology" is not in the input; add its manifest`,
		},
		"a domain that the topology of the input does not have, which is reported to have each of its own once": {
			good +
				"spec: {topologyConstraint: {packDomain: rack}, services: [{name: A, extraPodSpec: {mainContainer: {image: " +
				"i}}}]}\n" +
				"---\napiVersion: grove.io/v1alpha1\nkind: ClusterTopology\nmetadata: {name: grove-topology}\n" +
				"spec: {levels: [{domain: zone, key: z}, {domain: zone, key: y}, {domain: hots, key: g}, {domain: host, key: h}]}",
			`in[1]: DynamoGraphDeployment ns/d: spec.topologyConstraint.packDomain: Invalid value: "rack": not a level of ClusterTopology "grove-topology"; available domains: zone, host`,
		},

		"a domain that the binding of the input does not have": {
			good +
				"spec: {topologyConstraint: {topologyProfile: net, packDomain: rack}, services: [{name: A, extraPodSpec: " +
				"{mainContainer: {image: i}}}]}\n" +
				"---\napiVersion: grove.io/v1alpha1\nkind: ClusterTopologyBinding\nmetadata: {name: net}\n" +
				"spec: {levels: [{domain: spine, key: s}, {domain: leaf-switch, key: l}]}",
			`in[1]: DynamoGraphDeployment ns/d: spec.topologyConstraint.packDomain: Invalid value: "rack": not a level of ClusterTopologyBinding "net"; available domains: spine, leaf-switch`,
		},
		"a deployment that was there before, in another version": {
			good +
				"spec: {services: [{name: A, extraPodSpec: {mainContainer: {image: i}}}]}\n---\napiVersion: nvidia.com/v1beta1\n" +
				"kind: DynamoGraphDeployment\nmetadata: {name: d, namespace: ns}\nspec: {components: [{name: A, podTemplate: " +
				"{spec: {containers: [{name: main, image: i}]}}}]}",
			`in[2]: DynamoGraphDeployment ns/d: metadata.name: the input has this object already`,
		},
		"no services at all": {
			good + "spec: {}",
			`in[1]: DynamoGraphDeployment ns/d: spec.services: Required value`,
		},
		"a version that does not exist": {
			"apiVersion: nvidia.com/v1\nkind: DynamoGraphDeployment\nmetadata: {name: d, namespace: ns}\nspec: {}",
			`in[1]: DynamoGraphDeployment ns/d: apiVersion: ` +
				`dynamographdeployments.nvidia.com has no version v1, but v1alpha1 and v1beta1`,
		},
		"a namespace that YAML takes for a boolean": {
			"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: d, namespace: n}\nspec: " +
				"{services: []}",
			`in[1]: DynamoGraphDeployment default/d: metadata.namespace: must be a string, in quotes, not false`,
		},
		"more nodes than can be meant": {
			"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: d, namespace: ns}\n" +
				"spec: {components: [{name: A, multinode: {nodeCount: 1001}, podTemplate: {spec: {containers: [{name: main, " +
				"image: i, command: [python3, -m, dynamo.sglang]}]}}}]}",
			`in[1]: DynamoGraphDeployment ns/d: spec.components[0].multinode.nodeCount: Invalid value: 1001: `,
		},
		"services that are neither list nor map": {
			good + "spec: {services: 3}",
			`in[1]: DynamoGraphDeployment ns/d: spec.services: must be a list of services, or a map of them by name`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents, findings := manifests.Parse("in", []byte(c.input))
			require.Empty(t, findings)
			_, findings = offline.Renderer{}.Render(documents)
			var lines []string
			for _, finding := range findings {
				lines = append(lines, finding.String())
			}
			require.Len(t, lines, 1)
			assert.True(t, strings.HasPrefix(lines[0], c.want), "got\n%s\nwant\n%s", lines[0], c.want)
		})
	}
}

func rendered(t *testing.T, input string) string {
	t.Helper()
	documents, findings := manifests.Parse("input.yaml", []byte(input))
	require.Empty(t, findings)
	objects, findings := offline.Renderer{}.Render(documents)
	for _, finding := range findings {
		require.True(t, finding.Warning, "%s", finding)
	}
	var printed bytes.Buffer
	require.NoError(t, manifests.Write(&printed, manifests.YAML, objects))
	return printed.String()
}

func TestAServiceThatIsStoppedIsReported(t *testing.T) {
	for input, want := range map[string]string{
		"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: d, namespace: ns}\n" +
			"spec: {services: {B: {replicas: 0, minAvailable: 2, extraPodSpec: {mainContainer: {image: i}}}, A: " +
			"{extraPodSpec: {mainContainer: {image: " +
			"i}}}}}": `in[1]: DynamoGraphDeployment ns/d: warning: spec.services[1].replicas: 0 cannot be shown: it is made with 2 and scaled to 0 at once (service "B")`,
		"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: d}\n" +
			"spec: {components: [{name: A, replicas: 0, podTemplate: {spec: {containers: [{name: main, image: " +
			"i}]}}}]}": `in[1]: DynamoGraphDeployment default/d: warning: spec.components[0].replicas: 0 cannot be shown: it is made with 1 and scaled to 0 at once (service "A")`,
	} {
		documents, findings := manifests.Parse("in", []byte(input))
		require.Empty(t, findings)
		objects, findings := offline.Renderer{}.Render(documents)
		assert.NotEmpty(t, objects)
		require.Len(t, findings, 1)
		assert.Equal(t, want, findings[0].String())
	}
}

func TestKindsWithoutEffectPassWithOneWarning(t *testing.T) {
	for _, kind := range []string{"DynamoModel", "DynamoCheckpoint", "DynamoGraphDeploymentRequest",
		"DynamoComponentDeployment"} {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			documents, findings := manifests.Parse("in",
				[]byte("apiVersion: nvidia.com/"+version+"\nkind: "+kind+"\nmetadata: {name: d}\nspec: {a: b}"))
			require.Empty(t, findings)
			objects, findings := offline.Renderer{}.Render(documents)
			if len(objects) != 1 || objects[0] != documents[0].Object {
				t.Errorf("%s does not pass as it is: %v", kind, objects)
			}
			require.Len(t, findings, 1, kind)
			assert.Contains(t, findings[0].String(), "in[1]: "+kind+" default/d: warning: "+kind+" has no effect: ")
		}
	}
	documents, _ := manifests.Parse("in", []byte("apiVersion: others.com/v1\nkind: DynamoModel\nmetadata: {name: d}"))
	_, findings := (offline.Renderer{}).Render(documents)
	assert.Empty(t, findings, "a kind of others")
}
