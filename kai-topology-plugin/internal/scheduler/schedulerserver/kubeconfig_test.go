package schedulerserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestKubeconfigFlagWinsOverTheFile(t *testing.T) {
	for name, written := range map[string]string{
		"the file names another": "kind: K\nclientConnection: {kubeconfig: /other, qps: 5}\nprofiles: [{schedulerName: s}]",
		"the file names none":    "kind: K\nclientConnection: {qps: 5}\nprofiles: [{schedulerName: s}]",
	} {
		t.Run(name, func(t *testing.T) {
			merged, err := withKubeconfig([]byte(written), "/mine")
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := yaml.Unmarshal(merged, &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"kind":             "K",
				"clientConnection": map[string]any{"kubeconfig": "/mine", "qps": 5.0},
				"profiles":         []any{map[string]any{"schedulerName": "s"}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigurationThatIsNoYAMLIsAnError(t *testing.T) {
	if _, err := withKubeconfig([]byte("a: [b"), "/mine"); err == nil || !strings.Contains(err.Error(), "yaml") {
		t.Errorf("error %v", err)
	}
}
