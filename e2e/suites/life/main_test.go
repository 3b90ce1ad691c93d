// Package life_test runs stories of deployments, sets, topologies and StatefulSets side by side, in which several
// programs work together. It has a dev cluster of its own.
package life_test

import (
	"os"
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const (
	dynamoOperator = "dynamo-operator"
	podGrouper     = "podgrouper"
)

// cluster has the nodes of docs/examples, all components, and beside them the nodes of each story.
var cluster = &suite.Cluster{Options: devcluster.Options{
	// The API server copies labels of nodes to pods, which is on since Kubernetes 1.35.
	APIServer: []string{"--feature-gates=PodTopologyLabelsAdmission=true"},
}}

func TestMain(m *testing.M) {
	if account := os.Getenv(asEngine); account != "" {
		os.Exit(playEngine(account))
	}
	cluster.Main(m)
}
