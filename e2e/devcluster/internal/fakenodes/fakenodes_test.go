package fakenodes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/manifests"
)

func read(t *testing.T, content string) ([]*corev1.Node, []manifests.Finding) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nodes.yaml")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	nodes, findings := Read(file)
	for i := range findings {
		findings[i].Source = filepath.Base(findings[i].Source)
	}
	return nodes, findings
}

func TestABareNodeIsCompleted(t *testing.T) {
	nodes, findings := read(t, "{apiVersion: v1, kind: Node, metadata: {name: a}}")
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("32"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	want := []*corev1.Node{{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        "a",
			Annotations: map[string]string{Annotation: "fake"},
			Labels: map[string]string{
				"kubernetes.io/hostname": "a", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			},
		},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources, Conditions: healthy,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "a"}},
			NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "fake"},
		},
	}}
	if diff := cmp.Diff(want, nodes); diff != "" || findings != nil {
		t.Errorf("%v\n%s", findings, diff)
	}
}

func TestWhatAManifestSaysStays(t *testing.T) {
	nodes, findings := read(t, `
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Node
    metadata: {name: a, annotations: {note: kept}, labels: {kubernetes.io/hostname: other, rack: r1}}
    spec: {taints: [{key: gpu, effect: NoSchedule}]}
    status: {allocatable: {cpu: "4", nvidia.com/gpu: "8"}, conditions: [{type: Ready, status: "False"}]}
`)
	if len(nodes) != 1 || findings != nil {
		t.Fatalf("got %v, %v", nodes, findings)
	}
	node := nodes[0]
	if node.Annotations["note"] != "kept" || node.Labels["kubernetes.io/hostname"] != "other" ||
		node.Labels["rack"] != "r1" || len(node.Spec.Taints) != 1 || len(node.Status.Conditions) != 1 {
		t.Errorf("got %v", node)
	}
	for _, resources := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
		gpus := resources["nvidia.com/gpu"]
		if resources.Cpu().Value() != 4 || gpus.Value() != 8 || resources.Pods().Value() != 110 {
			t.Errorf("resources %v", resources)
		}
	}
}

func TestWhatIsNotANodeIsFound(t *testing.T) {
	nodes, findings := read(t, `
{apiVersion: v1, kind: Node, metadata: {name: a, lables: {rack: r1}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}}
`)
	want := []manifests.Finding{
		{Source: "nodes.yaml[1]", Kind: "Node", Name: "a", Path: "metadata.lables",
			Reason: `unknown field, did you mean "labels"?`, Unknown: true},
		{Source: "nodes.yaml[2]", Kind: "Pod", Namespace: "default", Name: "p", Path: "kind",
			Reason: "must be Node of v1: only nodes belong into this file"},
	}
	if diff := cmp.Diff(want, findings); diff != "" || nodes != nil {
		t.Errorf("%v\n%s", nodes, diff)
	}
}
