// Package topologies_test changes PodCliqueSets and ClusterTopologies at the same time. It has a dev cluster of its
// own.
package topologies_test

import (
	"path/filepath"
	"testing"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

var cluster = &suite.Cluster{
	Options: devcluster.Options{
		NodesFile:  filepath.Join("testdata", "nodes.yaml"),
		Components: []string{suite.GroveOperator, "podgrouper", "kai-topology-plugin"},
	},
	Operator: suite.GroveOperator,
}

func TestMain(m *testing.M) { cluster.Main(m) }
