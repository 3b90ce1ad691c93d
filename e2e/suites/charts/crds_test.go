package charts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kept are the CRDs that helm leaves when it uninstalls.
func kept(objects []*unstructured.Unstructured) []string {
	var names []string
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" && object.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
			names = append(names, object.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func TestCRDsAreKeptUnlessToldOtherwise(t *testing.T) {
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
			if diff := cmp.Diff(all, kept(objects)); diff != "" {
				t.Errorf("kept (-all +kept):\n%s", diff)
			}
			if names := kept(rendered(t, chart, set, "crds.keep=false")); len(names) > 0 {
				t.Errorf("kept although told otherwise: %v", names)
			}
		})
	}
}

// TestUninstallRemovesTheKindsWhenTold says so by an upgrade, as somebody does who decides it in the end.
func TestUninstallRemovesTheKindsWhenTold(t *testing.T) {
	installed := install(t, "packtree")
	var told []string
	for _, chart := range charts["packtree"].deployments {
		told = append(told, chart+".crds.keep=false")
	}
	mustHelm(t, installed.kubeconfig, "upgrade", "packtree", chartPath(t, "packtree"), "--namespace", namespace, "--set", strings.Join(told, ","))
	installed.definitions(t, charts["packtree"].definitions)
	mustHelm(t, installed.kubeconfig, "uninstall", "packtree", "--namespace", namespace)
	var left apiextensionsv1.CustomResourceDefinitionList
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if err := installed.client.List(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		if len(left.Items) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d CRDs are left, %s among them", len(left.Items), left.Items[0].Name)
		}
	}
}

// patience is how long anything may take, on a machine that does other things too.
const patience = 2 * time.Minute
