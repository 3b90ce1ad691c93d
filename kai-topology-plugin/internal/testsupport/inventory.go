// Package testsupport is for the tests of other packages: clusters as manifests.
package testsupport

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/manifests"
)

// Inventory reads the manifests of a cluster, with what the API server would have given the objects. Whatever is wrong
// with them fails the test.
func Inventory(t testing.TB, text string) *inventory.Inventory {
	t.Helper()
	documents, findings := manifests.Parse("test", []byte(text))
	cluster, more := inventory.Read(documents)
	if findings = append(findings, more...); len(findings) > 0 {
		t.Fatal(findings)
	}
	Stored(cluster.Nodes...)
	Stored(cluster.Pods...)
	Stored(cluster.PodGroups...)
	Stored(slices.Collect(maps.Values(cluster.Topologies))...)
	return cluster
}

// Stored sets the fields that the API server sets on creation, where they are unset, and returns the objects.
func Stored[T metav1.Object](objects ...T) []T {
	for i, object := range objects {
		if object.GetUID() == "" {
			object.SetUID(types.UID(object.GetNamespace() + "/" + object.GetName()))
		}
		if object.GetResourceVersion() == "" {
			object.SetResourceVersion(strconv.Itoa(i + 1))
		}
		if object.GetGeneration() == 0 {
			object.SetGeneration(1)
		}
		if created := object.GetCreationTimestamp(); created.IsZero() {
			object.SetCreationTimestamp(metav1.Unix(1_750_000_000, 0))
		}
	}
	return objects
}

// Pods are manifests of pods of a leaf of a gang in namespace ns. Each requests GPUs. There is one running pod on each
// named node, and one waiting pod for each empty name. spec is more of their spec, and ends with a comma.
func Pods(of, leaf string, gpus int, spec string, on ...string) string {
	var all strings.Builder
	for i, node := range on {
		fmt.Fprintf(&all, `---
apiVersion: v1
kind: Pod
metadata: {name: "%[1]s%[2]s-%[3]d", namespace: ns, uid: "%[1]s%[2]s-%[3]d",
  annotations: {pod-group-name: "%[1]s"}, labels: {kai.scheduler/subgroup-name: "%[2]s"}}
spec: {nodeName: "%[4]s", %[6]s containers: [{name: c, image: c,
  resources: {requests: {nvidia.com/gpu: "%[5]d"}, limits: {nvidia.com/gpu: "%[5]d"}}}]}
`, of, leaf, i, node, gpus, spec)
	}
	return all.String()
}
