package managerstart_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/kubeconfig"
)

const twoClusters = `
apiVersion: v1
kind: Config
current-context: one
clusters:
  - {name: one, cluster: {server: "https://one.example"}}
  - {name: two, cluster: {server: "https://two.example"}}
contexts:
  - {name: one, context: {cluster: one, user: ""}}
  - {name: two, context: {cluster: two, user: ""}}
`

func TestLoadChoosesTheServer(t *testing.T) {
	for name, test := range map[string]struct{ context, want, err string }{
		"of the current context":                {"", "https://one.example", ""},
		"of the context that was named":         {"two", "https://two.example", ""},
		"and names a context that is not there": {"three", "", `context "three" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			require.NoError(t, os.WriteFile(file, []byte(twoClusters), 0o600))
			for way, given := range map[string]string{"given": file, "of the environment": ""} {
				t.Setenv("KUBECONFIG", file)
				config, err := kubeconfig.Load(given, test.context)
				switch {
				case test.err != "":
					require.ErrorContains(t, err, test.err, "a file that is %s: error %v, want one with %q", way, err, test.err)
				case err != nil:
					t.Errorf("a file that is %s: %v", way, err)
				case config.Host != test.want:
					t.Errorf("a file that is %s: server %s, want %s", way, config.Host, test.want)
				}
			}
		})
	}
}

func TestLoadWithoutAnyServerSaysWhatToGive(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := kubeconfig.Load("", "")
	assert.ErrorContains(t, err, "give --kubeconfig")
}
