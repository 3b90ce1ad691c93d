package charts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/definitions"
)

var (
	kaisKinds   = charts["kai-topology-plugin"].definitions
	grovesKinds = charts["grove-operator"].definitions
)

// TestInstallBesideOthers looks at the umbrella for clusters that have KAI or Grove already, with the switches that
// docs/charts.md names, and installs it on those where most is switched off.
func TestInstallBesideOthers(t *testing.T) {
	for name, test := range map[string]struct {
		there       []string
		set         string
		deployments []string
		installed   bool
	}{
		"KAI places and groups": {
			kaisKinds, "components.kai-topology-plugin=false,components.podgrouper=false",
			[]string{"dynamo-operator", "grove-operator"}, false,
		},
		"KAI groups, and ours is a second scheduler": {
			kaisKinds,
			"kai-topology-plugin.crds.install=false,kai-topology-plugin.schedulerName=packtree-scheduler,components.podgrouper=false",
			[]string{"dynamo-operator", "grove-operator", "kai-topology-plugin"}, true,
		},
		"Grove makes pods": {
			grovesKinds, "components.grove-operator=false", []string{"dynamo-operator", "kai-topology-plugin",
				"podgrouper"}, false,
		},
		"Grove and KAI do all but translate": {
			slices.Concat(grovesKinds, kaisKinds),
			"components.grove-operator=false,components.kai-topology-plugin=false,components.podgrouper=false",
			[]string{"dynamo-operator"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := rendered(t, "packtree", test.set)
			assert.Empty(t, cmp.Diff(test.deployments, namesOf(objects, "Deployment")), "Deployments (-want +got)")
			for _, kind := range namesOf(objects, "CustomResourceDefinition") {
				if slices.Contains(test.there, kind) {
					t.Errorf("the chart brings CRD %s, which is there", kind)
				}
			}
			if test.installed {
				installsBeside(t, test.there, test.set, test.deployments)
			}
		})
	}
}

func installsBeside(t *testing.T, there []string, set string, deployments []string) {
	t.Helper()
	installed := emptyCluster(t)
	before := installed.bring(t, there)
	arguments := []string{"install", "packtree", chartPath(t, "packtree"), "--namespace", namespace}
	_, problems, err := helm(t, installed.kubeconfig, arguments...)
	if err == nil || !strings.Contains(problems, "exists and cannot be imported into the current release") {
		t.Errorf("without the switches helm must not take over what is there: %v: %s", err, problems)
	}
	mustHelm(t, installed.kubeconfig, append(arguments, "--set", set)...)
	installed.deployments(t, deployments)
	for name, version := range installed.versions(t) {
		if was, there := before[name]; there && was != version {
			t.Errorf("CRD %s, which was there before, has been written", name)
		}
	}
	mustHelm(t, installed.kubeconfig, "uninstall", "packtree", "--namespace", namespace)
	if after := installed.versions(t); len(after) < len(before) {
		t.Errorf("CRDs before: %v; after the uninstall: %v", before, after)
	}
}

// TestTheKindOfWorkersIsLeftToWhoBroughtIt: Dynamo's own charts contain it too, and an install must neither fail nor
// take it over.
func TestTheKindOfWorkersIsLeftToWhoBroughtIt(t *testing.T) {
	installed := emptyCluster(t)
	const kind = "dynamoworkermetadatas.nvidia.com"
	before := installed.bring(t, []string{kind})
	arguments := []string{"dynamo-operator", chartPath(t, "dynamo-operator"), "--namespace", namespace}
	for _, verb := range []string{"install", "upgrade"} {
		mustHelm(t, installed.kubeconfig, append([]string{verb}, arguments...)...)
		after := installed.versions(t)
		if after[kind] != before[kind] {
			t.Errorf("%s has written the CRD %s: %s, was %s", verb, kind, after[kind], before[kind])
		}
		if len(after) != len(charts["dynamo-operator"].definitions) {
			t.Errorf("%s has brought %v", verb, after)
		}
	}
	mustHelm(t, installed.kubeconfig, "uninstall", "dynamo-operator", "--namespace", namespace)
	if after := installed.versions(t); after[kind] != before[kind] {
		t.Errorf("the uninstall leaves %v", after)
	}
}

// bring installs CRDs outside of the charts, and returns the result of versions.
func (i installation) bring(t *testing.T, names []string) map[string]string {
	t.Helper()
	all, err := definitions.All()
	require.NoError(t, err)
	brought := map[string]string{}
	for _, definition := range all {
		if !slices.Contains(names, definition.Name) {
			continue
		}
		require.NoError(t, i.client.Create(t.Context(), definition))
		brought[definition.Name] = string(definition.UID)
	}
	if len(brought) != len(names) {
		t.Fatalf("%d of %d CRDs are known", len(brought), len(names))
	}
	return i.versions(t)
}

// versions says for each CRD whether its metadata or spec was written.
func (i installation) versions(t *testing.T) map[string]string {
	t.Helper()
	var found apiextensionsv1.CustomResourceDefinitionList
	require.NoError(t, i.client.List(t.Context(), &found))
	versions := map[string]string{}
	for _, definition := range found.Items {
		versions[definition.Name] = strings.Join(append(writers(&definition), string(definition.UID)), " ")
	}
	return versions
}

// writers are the field managers of an object, except those of its status.
func writers(object client.Object) []string {
	var names []string
	for _, fields := range object.GetManagedFields() {
		if fields.Subresource == "" {
			names = append(names, fields.Manager)
		}
	}
	return names
}
