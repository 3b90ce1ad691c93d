package charts_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/examples"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// kept are the CRDs that helm leaves when it uninstalls.
func kept(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" &&
			object.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
			names = append(names, object.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func TestCRDsAreKeptUnlessConfiguredOtherwise(t *testing.T) {
	for _, chart := range charts["packtree"].deployments {
		t.Run(chart, func(t *testing.T) {
			set := "crds.keep=true"
			if chart == "podgrouper" {
				set = "crds.kai=true"
			}
			objects := rendered(t, chart, set)
			all := namesOf(objects, "CustomResourceDefinition")
			if len(all) == 0 {
				t.Fatal("no CRDs")
			}
			assert.Empty(t, cmp.Diff(all, kept(objects)), "kept (-all +kept)")
			if names := kept(rendered(t, chart, set, "crds.keep=false")); len(names) > 0 {
				t.Errorf("kept although configured otherwise: %v", names)
			}
		})
	}
}

// uninstallWithKinds sets the value by an upgrade, as for a decision at the end. The topology that grove-operator has
// made keeps its kind until its finalizer is removed, as docs/charts.md says.
func (i installation) uninstallWithKinds(t *testing.T, all []string) {
	t.Helper()
	i.holdTopology(t)
	var switches []string
	for _, chart := range charts["packtree"].deployments {
		switches = append(switches, chart+".crds.keep=false")
	}
	mustHelm(t, i.kubeconfig, "upgrade", "packtree", chartPath(t, "packtree"), "--namespace",
		namespace, "--set", strings.Join(switches, ","))
	i.untilLeft(t, all...)
	mustHelm(t, i.kubeconfig, "uninstall", "packtree", "--namespace", namespace)
	i.untilLeft(t, "clustertopologies.grove.io")
	if out, err := kubectl(t, i.kubeconfig, releaseTopology...); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i.untilLeft(t)
}

// releaseTopology is what docs/charts.md asks for.
var releaseTopology = []string{"patch", "clustertopologies/grove-topology", "--type", "merge", "-p",
	`{"metadata":{"finalizers":null}}`}

// holdTopology makes the default topology with the finalizer that grove-operator gives it, as the program itself, which
// its webhooks exempt. Helm ends when the kinds are stored, and the API server serves them a moment later.
func (i installation) holdTopology(t *testing.T) {
	t.Helper()
	written, err := os.ReadFile(filepath.Join(repository(t), "docs", "examples", examples.DefaultTopology))
	require.NoError(t, err)
	var topology unstructured.Unstructured
	require.NoError(t, yaml.Unmarshal(written, &topology.Object))
	topology.SetFinalizers([]string{grovev1alpha1.FinalizerClusterTopology})
	cluster, err := server()
	require.NoError(t, err)
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":grove-operator"
	program, err := client.New(config, client.Options{})
	require.NoError(t, err)
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := program.Create(t.Context(), topology.DeepCopy())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// untilLeft waits until there are no other CRDs.
func (i installation) untilLeft(t *testing.T, names ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		var found apiextensionsv1.CustomResourceDefinitionList
		// The test's own context has ended during cleanup.
		require.NoError(t, i.client.List(context.WithoutCancel(t.Context()), &found))
		var left []string
		for _, definition := range found.Items {
			left = append(left, definition.Name)
		}
		if slices.Equal(names, left) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left are %v, want %v", left, names)
		}
	}
}

func TestTheKindsOfAChartCanBeLeftToOthers(t *testing.T) {
	for _, chart := range []string{"dynamo-operator", "grove-operator", "kai-topology-plugin"} {
		if names := namesOf(rendered(t, chart, "crds.install=false"), "CustomResourceDefinition"); len(names) > 0 {
			t.Errorf("%s installs %v all the same", chart, names)
		}
	}
}
