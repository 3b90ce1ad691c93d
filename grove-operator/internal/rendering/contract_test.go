package rendering_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/manifests"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/controller"
	"packtree.dev/grove-operator/internal/rendering"
	"packtree.dev/grove-operator/internal/testsupport/contract"
)

// TestAnySetBecomesWhatTheContractSays compares the objects of random sets with the objects that the documentation
// promises.
func TestAnySetBecomesWhatTheContractSays(t *testing.T) {
	config := configuration.WithoutFile()
	config.TopologyAwareScheduling = groveconfigv1alpha1.TopologyAwareSchedulingConfiguration{Enabled: true}
	for _, domain := range []string{"zone", "rack", "host"} {
		config.TopologyAwareScheduling.Levels = append(config.TopologyAwareScheduling.Levels,
			groveconfigv1alpha1.TopologyLevel{Domain: domain, Key: "example.com/" + domain})
	}
	rapid.Check(t, func(t *rapid.T) {
		set := contract.AnySet(t, "ns")
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
		require.NoError(t, err)
		document := manifests.Document{Object: &unstructured.Unstructured{Object: fields}}
		document.Object.SetGroupVersionKind(grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))
		rendered, findings := rendering.Decide([]manifests.Document{document}, config)
		for _, finding := range findings {
			t.Fatalf("the set is turned down: %v", finding)
		}
		require.Empty(t, cmp.Diff(offline(contract.Of(set)), contract.Observed(typed(t, rendered))),
			"objects (-contract +rendered)")
	})
}

// offline leaves out what does not exist without a cluster: owners, and the operator's gate.
func offline(objects contract.Objects) contract.Objects {
	for name, object := range objects {
		object.Owner = ""
		switch object.Facts["gates"] {
		case `["example.com/hold","grove.io/podgang-pending-creation"]`:
			object.Facts["gates"] = `["example.com/hold"]`
		case `["grove.io/podgang-pending-creation"]`:
			object.Facts["gates"] = `[]`
		}
		objects[name] = object
	}
	return objects
}

// typed reads the objects that were rendered for a set, without the topology.
func typed(t *rapid.T, rendered []runtime.Object) []client.Object {
	var all []client.Object
	for _, object := range rendered {
		fields := object.(*unstructured.Unstructured)
		if fields.GetKind() == "Topology" {
			continue
		}
		empty, err := controller.Scheme().New(fields.GroupVersionKind())
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields.Object, empty)
		}
		require.NoError(t, err)
		all = append(all, empty.(client.Object))
	}
	return all
}
