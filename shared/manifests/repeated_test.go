package manifests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/shared/manifests"
)

func TestRepeatedReportsTheSecondObjectOfAName(t *testing.T) {
	documents, wrong := manifests.Parse("f", []byte(`
{apiVersion: v1, kind: Pod, metadata: {name: a}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: other}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: a}}
---
{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}
---
{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Node, metadata: {name: a}}
---
{apiVersion: v1, kind: Node, metadata: {name: a, namespace: other}}
---
{apiVersion: batch/v1beta1, kind: Job, metadata: {name: a}}
`))
	require.Empty(t, wrong)
	var got []string
	kinds := []schema.GroupKind{{Kind: "Pod"}, {Kind: "Node"}, {Group: "batch", Kind: "Job"}}
	for _, finding := range manifests.Repeated(documents, kinds...) {
		got = append(got, finding.String())
	}
	want := []string{
		"f[3]: Pod default/a: metadata.name: the input has this object already",
		"f[10]: Node a: metadata.name: the input has this object already",
		"f[11]: Job default/a: metadata.name: the input has this object already",
	}
	assert.Empty(t, cmp.Diff(want, got), "findings (-want +got)")
}
