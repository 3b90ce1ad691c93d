package manifests

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterScoped are the kinds that are in no namespace, among our own kinds and the kinds that we read.
var clusterScoped = []string{"Node", "Topology", "ClusterTopology", "ClusterTopologyBinding", "NodeResourceTopology"}

// namespaceOf is the namespace that an object would have in a cluster: the default one where it names none, and none
// where its kind has none.
func namespaceOf(object *unstructured.Unstructured) string {
	if slices.Contains(clusterScoped, object.GetKind()) {
		return ""
	}
	return cmp.Or(object.GetNamespace(), metav1.NamespaceDefault)
}

// Repeated returns a finding for each object of one of these kinds that an earlier document has already, in any
// version: neither of two contradicting objects can be chosen, and the objects made from both would exist twice.
func Repeated(documents []Document, kinds ...schema.GroupKind) []Finding {
	type key struct {
		kind            schema.GroupKind
		namespace, name string
	}
	seen := map[key]bool{}
	var findings []Finding
	for _, document := range documents {
		kind, name := document.Object.GroupVersionKind().GroupKind(), document.Object.GetName()
		if name == "" || !slices.Contains(kinds, kind) {
			continue // An object with a generated name differs from all others.
		}
		object := key{kind, namespaceOf(document.Object), name}
		if seen[object] {
			findings = append(findings, document.Finding("metadata.name", "the input has this object already"))
		}
		seen[object] = true
	}
	return findings
}
