package supportbundle

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"packtree.dev/shared/manifests"
)

// clusterWithout is a cluster with one object of each kind, which returns an error when one of them is listed.
func clusterWithout(resource string, failure error) *fake.FakeDynamicClient {
	lists := map[schema.GroupVersionResource]string{}
	for _, kind := range kinds {
		lists[kind.resource] = "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		listed := action.GetResource()
		if listed.Resource == resource {
			return true, nil, failure
		}
		item := unstructured.Unstructured{Object: map[string]any{
			"apiVersion": listed.GroupVersion().String(), "kind": listed.Resource,
			"metadata":       map[string]any{"name": "one"},
			"involvedObject": map[string]any{"kind": "PodGroup"}, // Only events about gangs are kept.
		}}
		return true, &unstructured.UnstructuredList{Object: map[string]any{}, Items: []unstructured.Unstructured{item}},
			nil
	})
	return client
}

func TestABundleDoesWithoutWhatIsNotDecisiveAndSaysSo(t *testing.T) {
	gangs, zones := schema.GroupResource{Group: "scheduling.run.ai", Resource: "podgroups"},
		zonesVersion.WithResource("noderesourcetopologies").GroupResource()
	for name, test := range map[string]struct {
		failure error
		of      schema.GroupResource
		note    string
	}{
		"not installed": {apierrors.NewNotFound(gangs, ""), gangs,
			"the cluster serves no podgroups.scheduling.run.ai: is the CustomResourceDefinition installed?"},
		"not allowed": {apierrors.NewForbidden(gangs, "", nil), gangs,
			"podgroups.scheduling.run.ai are left out, since you may not list them: ClusterRole packtree-viewer allows it"},
		"broken": {errors.New("no etcd"), gangs,
			"podgroups.scheduling.run.ai are left out, since they cannot be listed: no etcd"},
		"not installed, and not ours": {apierrors.NewNotFound(zones, ""), zones, ""},
		"not ours, and not allowed": {apierrors.NewForbidden(zones, "", nil), zones,
			"noderesourcetopologies.topology.node.k8s.io are left out, since you may not list them: ClusterRole " +
				"packtree-viewer allows it"},
	} {
		t.Run(name, func(t *testing.T) {
			collected, err := collect(t.Context(), clusterWithout(test.of.Resource, test.failure))
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(test.note, strings.Join(collected.notes, "\n")), "notes (-want +got)")
			assert.Len(t, collected.objects, len(kinds)-1, "objects, want one of each other kind")
		})
	}
}

func TestThereIsNoBundleWithoutNodesOrPods(t *testing.T) {
	for _, resource := range []string{"nodes", "pods"} {
		for want, failure := range map[string]error{
			"ask for ClusterRole packtree-viewer": apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "",
				nil),
			"listing " + resource + ": no etcd": errors.New("no etcd"),
		} {
			_, err := collect(t.Context(), clusterWithout(resource, failure))
			assert.ErrorContains(t, err, want)
		}
	}
}

func TestABundleOfADumpIsThatOfTheCluster(t *testing.T) {
	const dump = `
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: main, image: secret, args: [secret]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: ended}, status: {phase: Failed}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: c2VjcmV0}}
---
{apiVersion: v1, kind: NodeList, items: [{metadata: {name: node}, spec: {podCIDR: secret}}]}
---
{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {name: d}, spec: {env: [{name: secret}]}}
`
	command, printed := CommandFor(nil), &strings.Builder{}
	command.SetIn(strings.NewReader(dump))
	command.SetOut(printed)
	command.SetArgs([]string{"-f", "-"})
	require.NoError(t, command.Execute())
	read, findings := manifests.Parse("bundle", []byte(printed.String()))
	require.Empty(t, findings)
	var names []string
	for _, document := range read {
		names = append(names, document.Object.GetKind()+" "+document.Object.GetName())
	}
	assert.Equal(t, []string{"Node node", "DynamoGraphDeployment d", "Pod p"}, names)
	assert.NotContains(t, printed.String(), "secret")
}
