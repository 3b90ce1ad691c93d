package wholepath_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestNoNamespaceIsLeft runs last, because it is the last test of the last file.
func TestNoNamespaceIsLeft(t *testing.T) {
	var namespaces corev1.NamespaceList
	if err := cluster.List(t.Context(), &namespaces, client.MatchingLabels(ofSuite)); err != nil {
		t.Fatal(err)
	}
	for i := range namespaces.Items {
		if namespace := &namespaces.Items[i]; namespace.DeletionTimestamp == nil {
			t.Errorf("namespace %s is left", namespace.Name)
		}
	}
}
