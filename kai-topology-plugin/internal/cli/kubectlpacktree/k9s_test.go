package kubectlpacktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
)

// k9sPlugin is what k9s reads of a plugin.
type k9sPlugin struct {
	ShortCut    string   `json:"shortCut"`
	Description string   `json:"description"`
	Scopes      []string `json:"scopes"`
	Command     string   `json:"command"`
	Args        []string `json:"args"`
}

// line is the command line that k9s runs on an object, without what the output is piped into.
func (p k9sPlugin) line(resource string) []string {
	line := p.Command + " " + strings.Join(p.Args, " ")
	if p.Command == "sh" {
		line, _, _ = strings.Cut(p.Args[1], " 2>&1")
	}
	return strings.Fields(strings.NewReplacer(
		"$RESOURCE_NAME", resource, "$NAMESPACE", "default", "$NAME", "name", "$CONTEXT", "context", `"`, "",
	).Replace(line))
}

func TestK9sPluginsNameCommandsFlagsAndKindsThatThereAre(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "k9s-plugins.yaml"))
	require.NoError(t, err)
	var read struct {
		Plugins map[string]k9sPlugin `json:"plugins"`
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &read))
	keys := map[string]string{}
	for name, plugin := range read.Plugins {
		if other, taken := keys[plugin.ShortCut]; taken || plugin.Description == "" || len(plugin.Scopes) == 0 {
			t.Errorf("%s has the key of %q, or no description or scopes", name, other)
		}
		keys[plugin.ShortCut] = name
		for _, resource := range plugin.Scopes {
			line := plugin.line(resource)
			assert.Equal(t, []string{"kubectl", "packtree"}, line[:2], "%s runs %v", name, line)
			command, flags, err := Command().Find(line[2:])
			if err != nil || command.Name() != line[2] {
				t.Errorf("%s asks for %v: %v", name, line[2:], err)
				continue
			}
			require.NoError(t, command.ParseFlags(flags), name)
			if command.Name() == "explain" {
				_, err := explanation.ParseTarget(command.Flags().Args())
				require.NoError(t, err, "%s on %s", name, resource)
			}
		}
	}
	assert.GreaterOrEqual(t, len(keys), 3, "only %v are there", keys)
}
