package compatibility_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// early is the namespace of a workload that comes before its CRDs.
const early = "early"

// wanting is a set of pods that need one rack, which grove-operator writes into its PodGang.
const wanting = `
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: wanting}
spec:
  replicas: 1
  template:
    topologyConstraint: {packDomain: rack}
    cliques:
      - name: worker
        spec: {replicas: 2, podSpec: {containers: [{name: main, image: "engine:1"}]}}
`

// missesAField gives the cluster definitions that lack a field, as an upgrade of the programs without the CRDs does.
// The operator's log names the missing fields. Nothing is placed as if the fields were unset: the pods keep their
// scheduling gates.
func (i *installation) missesAField(ctx context.Context, t *testing.T, definitions map[string][]byte) {
	t.Helper()
	const file = "scheduler.grove.io_podgangs.yaml"
	definitions[file] = lacking(t, definitions[file], "spec", "topologyConstraint")
	i.clone.define(t, definitions)
	i.must(ctx, t, i.Machine.Upgrade(ctx, nil))
	i.must(ctx, t, i.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: early}}))
	i.until(ctx, t, "the namespace takes pods", i.NamespaceTakesPods(early))
	i.asks(ctx, t, early, "apply", "-f", store(t, wanting))
	i.until(ctx, t, "grove-operator names the field", func(context.Context) (bool, string, error) {
		said := i.LogLines("grove-operator", ".spec.topologyConstraint: field not declared in schema", 1)
		return said != "", said, nil
	})
	nodes, err := i.Kubectl(ctx, early, "get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")
	if err != nil || nodes != "" {
		t.Errorf("pods stand on %q: %v", nodes, err)
	}
	i.clone.define(t, nil)
	i.must(ctx, t, i.Machine.Upgrade(ctx, nil))
	i.until(ctx, t, "the pods run once the CRDs are today's", func(ctx context.Context) (bool, string, error) {
		running, err := i.Kubectl(ctx, early, "get", "pods", "--field-selector=status.phase=Running", "-o", "name")
		return len(strings.Fields(running)) == 2, running, err
	})
}

// lacking is a definition without the field at a path, in all its versions.
func lacking(t *testing.T, definition []byte, path ...string) []byte {
	t.Helper()
	var read map[string]any
	require.NoError(t, yaml.Unmarshal(definition, &read))
	for _, version := range read["spec"].(map[string]any)["versions"].([]any) {
		at := version.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		for _, name := range path[:len(path)-1] {
			at = at["properties"].(map[string]any)[name].(map[string]any)
		}
		fields := at["properties"].(map[string]any)
		if _, there := fields[path[len(path)-1]]; !there {
			t.Fatalf("the definition has no %v", path)
		}
		delete(fields, path[len(path)-1])
	}
	written, err := yaml.Marshal(read)
	require.NoError(t, err)
	return written
}

func store(t *testing.T, manifest string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	require.NoError(t, os.WriteFile(file, []byte(manifest), 0o600))
	return file
}
