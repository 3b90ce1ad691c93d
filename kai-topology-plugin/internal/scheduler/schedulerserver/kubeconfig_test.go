package schedulerserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestKubeconfigFlagWinsOverTheFile(t *testing.T) {
	for name, written := range map[string]string{
		"the file names another": "kind: K\nclientConnection: {kubeconfig: /other, qps: 5}\nprofiles: [{schedulerName: s}]",
		"the file names none":    "kind: K\nclientConnection: {qps: 5}\nprofiles: [{schedulerName: s}]",
	} {
		t.Run(name, func(t *testing.T) {
			merged, err := withKubeconfig([]byte(written), "/mine")
			require.NoError(t, err)
			var got map[string]any
			require.NoError(t, yaml.Unmarshal(merged, &got))
			want := map[string]any{
				"kind":             "K",
				"clientConnection": map[string]any{"kubeconfig": "/mine", "qps": 5.0},
				"profiles":         []any{map[string]any{"schedulerName": "s"}},
			}
			assert.Empty(t, cmp.Diff(want, got), "configuration (-want +got)")
		})
	}
}

func TestConfigurationThatIsNoYAMLIsAnError(t *testing.T) {
	_, err := withKubeconfig([]byte("a: [b"), "/mine")
	assert.ErrorContains(t, err, "yaml")
}
