package charts_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/examples"
	"packtree.dev/shared/api/crds"
)

func TestLint(t *testing.T) {
	for chart := range charts {
		t.Run(chart, func(t *testing.T) {
			mustHelm(t, os.DevNull, "lint", "--strict", chartPath(t, chart))
		})
	}
}

// schema has the fields of a JSON schema with the names of values, and what is shown of them.
type schema struct {
	Properties  map[string]schema `json:"properties"`
	Type        any               `json:"type"`
	Enum        []string          `json:"enum"`
	Description string            `json:"description"`
}

func (s schema) names(prefix string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		path := prefix + name
		// Helm passes a parent's global values to every chart, so the schema allows them.
		if path == "global" {
			continue
		}
		names = append(names, path)
		names = append(names, s.Properties[name].names(path+".")...)
	}
	return names
}

// A value in the schema and not in values.yaml would not be found by users. Lint checks the other direction.
func TestEveryValueOfTheSchemaIsDocumented(t *testing.T) {
	// Kubernetes defines the contents of these, and items of lists have no place in values.yaml.
	elsewhere := []string{"resources.requests", "resources.limits", "resources.claims", "startup.resources.claims"}
	for chart := range charts {
		t.Run(chart, func(t *testing.T) {
			var checked schema
			require.NoError(t, json.Unmarshal(read(t, chart, "values.schema.json"), &checked))
			var values map[string]any
			require.NoError(t, yaml.Unmarshal(read(t, chart, "values.yaml"), &values))
			for _, name := range checked.names("") {
				if !slices.Contains(elsewhere, name) && !holds(values, strings.Split(name, ".")) {
					t.Errorf("%s: value %s is in values.schema.json and not in values.yaml", chart, name)
				}
			}
		})
	}
}

func holds(values map[string]any, path []string) bool {
	value, there := values[path[0]]
	if !there || len(path) == 1 {
		return there
	}
	below, _ := value.(map[string]any)
	return holds(below, path[1:])
}

func TestWrongValuesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ chart, set, says string }{
		"a value that does not exist": {"podgrouper", "webhooks.port=1", "webhooks"},
		"a nested value that does not exist": {"grove-operator", "config.controllers.podGangs.concurrentSyncs=1",
			"podGangs"},
		"a domain that does not exist": {"grove-operator", "config.topologyAwareScheduling.levels[0].domain=spine",
			"/levels/0/domain"},
		"a value of a subchart": {"packtree", "dynamo-operator.webhook.certMode=automatic",
			"/webhook/certMode"},
		"a component that does not exist": {"packtree", "components.grove=false", "grove"},
		"runbooks that no browser finds": {"podgrouper", "monitoring.alerts.runbooks=wiki/runbooks",
			"/monitoring/alerts/runbooks"},
		"a negative number of replicas": {"kai-topology-plugin", "replicas=-1", "/replicas"},
		"a shape that nobody can place": {"kai-topology-plugin",
			"shapes[0].name=a,shapes[0].pods=0,shapes[0].resources.cpu=1", "/shapes/0/pods"},
	} {
		t.Run(name, func(t *testing.T) {
			out, problems, err := helm(t, os.DevNull, "template", "release", chartPath(t, test.chart),
				"--set", test.set)
			if err == nil {
				t.Fatalf("helm took %s:\n%s", test.set, out)
			}
			if !strings.Contains(problems, test.says) {
				t.Errorf("helm does not name %s:\n%s", test.says, problems)
			}
		})
	}
}

// The charts contain copies because helm packages only files in their folders.
func TestDefinitionsAreTheGeneratedOnes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository(t), "charts", "*", "files", "crds*", "*.yaml"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Fatal("no chart carries a CRD")
	}
	for _, file := range files {
		copied, err := os.ReadFile(file)
		require.NoError(t, err)
		generated, err := crds.Files.ReadFile(filepath.Base(file))
		require.NoError(t, err)
		if diff := cmp.Diff(string(generated), string(copied)); diff != "" {
			t.Errorf("%s is not what was generated; run `make generate` (-generated +chart):\n%s", file, diff)
		}
	}
}

// docs/examples/clustertopology.yaml gives offline programs the topology that grove-operator makes from the chart's
// default.
func TestExampleTopologyIsTheChartsDefault(t *testing.T) {
	var values struct {
		Config struct {
			TopologyAwareScheduling struct {
				Levels []any `json:"levels"`
			} `json:"topologyAwareScheduling"`
		} `json:"config"`
	}
	require.NoError(t, yaml.Unmarshal(read(t, "grove-operator", "values.yaml"), &values))
	objects, err := examples.Objects(filepath.Join(repository(t), "docs", "examples", examples.DefaultTopology), "")
	require.NoError(t, err)
	spec, _ := objects[0].Object["spec"].(map[string]any)
	assert.Empty(t, cmp.Diff(values.Config.TopologyAwareScheduling.Levels, spec["levels"]), "levels (-chart +example)")
}

func read(t *testing.T, chart, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(chartPath(t, chart), file))
	require.NoError(t, err)
	return content
}
