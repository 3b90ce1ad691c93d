// Package fakenodes makes nodes from Node manifests. KWOK simulates their kubelets.
package fakenodes

import (
	"maps"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/shared/manifests"
)

// Annotation makes KWOK simulate a node.
const Annotation = "kwok.x-k8s.io/node"

// Read returns the nodes of a manifest file, or of standard input for "-", completed as by a kubelet. Other kinds are
// findings.
func Read(file string) ([]*corev1.Node, []manifests.Finding) {
	documents, findings := manifests.Read([]string{file}, os.Stdin)
	var nodes []*corev1.Node
	for _, document := range documents {
		object := document.Object
		if object.GetAPIVersion() != "v1" || object.GetKind() != "Node" {
			findings = append(findings, document.Finding("kind",
				"must be Node of v1: only nodes belong into this file"))
			continue
		}
		node := &corev1.Node{}
		if wrong := document.DecodeInto(node); len(wrong) > 0 {
			findings = append(findings, wrong...)
			continue
		}
		nodes = append(nodes, complete(node))
	}
	return nodes, findings
}

// Complete returns copies of the nodes with the fields that a kubelet would set.
func Complete(nodes []*corev1.Node) []*corev1.Node {
	completed := make([]*corev1.Node, len(nodes))
	for i, node := range nodes {
		completed[i] = complete(node.DeepCopy())
	}
	return completed
}

// healthy are the conditions of a healthy kubelet. A node that has them from the start needs no write of KWOK's.
var healthy = []corev1.NodeCondition{
	{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status"},
	{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory"},
	{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure"},
	{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID"},
	{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated"},
}

// complete sets the fields that a healthy kubelet sets when it registers its node. Fields of the manifest stay.
func complete(node *corev1.Node) *corev1.Node {
	node.Annotations = merge(map[string]string{Annotation: "fake"}, node.Annotations)
	node.Labels = merge(map[string]string{
		corev1.LabelHostname:   node.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}, node.Labels)
	status := &node.Status
	if len(status.Capacity) == 0 {
		status.Capacity = status.Allocatable.DeepCopy()
	}
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity.DeepCopy()
	}
	for _, resources := range []*corev1.ResourceList{&status.Capacity, &status.Allocatable} {
		*resources = merge(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("32"),
			corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}, *resources)
	}
	if len(status.Conditions) == 0 {
		status.Conditions = slices.Clone(healthy)
	}
	if len(status.Addresses) == 0 {
		status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}}
	}
	if status.NodeInfo.KubeletVersion == "" {
		status.NodeInfo.KubeletVersion = "fake"
	}
	return node
}

// merge returns the defaults with the given values laid over them.
func merge[M ~map[K]V, K comparable, V any](defaults, given M) M {
	maps.Copy(defaults, given)
	return defaults
}
