// Package examples reads the manifests of docs/examples for the demo and the suites.
package examples

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/shared/manifests"
)

// Files of docs/examples with a special role.
const (
	// Nodes is the cluster in which all examples fit together.
	Nodes = "nodes.yaml"
	// DefaultTopology is the ClusterTopology that grove-operator makes by itself in a cluster.
	DefaultTopology = "clustertopology.yaml"
	// CannotFit is the deployment that is accepted and never runs.
	CannotFit = "dgd-cannot-fit.yaml"
)

// Example is one file with a workload.
type Example struct {
	// Name is the file's name without its extension.
	Name string
	// File is the whole path.
	File string
	// Objects of the file, in its order.
	Objects []*unstructured.Unstructured
	// Fits is false for the example that stays pending.
	Fits bool
}

// Directory is docs/examples of the clone around the working directory.
func Directory() (string, error) {
	root, err := devcluster.Repository()
	return filepath.Join(root, "docs", "examples"), err
}

// Load reads every example with its objects in the given namespace, sorted by name and the one that cannot fit last: it
// needs the room that the others leave.
func Load(directory, namespace string) ([]Example, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("listing examples: %w", err)
	}
	var fitting, others []Example
	for _, file := range files {
		base := filepath.Base(file)
		if base == Nodes || base == DefaultTopology {
			continue
		}
		objects, err := Objects(file, namespace)
		if err != nil {
			return nil, err
		}
		example := Example{Name: strings.TrimSuffix(base, ".yaml"), File: file, Objects: objects,
			Fits: base != CannotFit}
		if example.Fits {
			fitting = append(fitting, example)
		} else {
			others = append(others, example)
		}
	}
	return append(fitting, others...), nil
}

// clusterScoped are the kinds in the examples that have no namespace.
var clusterScoped = []string{"Node", "ClusterTopology", "Topology", "PriorityClass"}

// Objects reads one file. Namespaced objects that name no namespace get the given one.
func Objects(file, namespace string) ([]*unstructured.Unstructured, error) {
	documents, findings := manifests.Read([]string{file}, nil)
	var wrong []error
	for _, finding := range findings {
		wrong = append(wrong, errors.New(finding.String()))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var objects []*unstructured.Unstructured
	for _, document := range documents {
		if document.Object.GetNamespace() == "" && !slices.Contains(clusterScoped, document.Object.GetKind()) {
			document.Object.SetNamespace(namespace)
		}
		objects = append(objects, document.Object)
	}
	return objects, nil
}
