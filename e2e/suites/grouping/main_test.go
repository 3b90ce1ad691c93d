// Package grouping_test tests workloads of several kinds from their manifests to the placement of their pods. It has a
// dev cluster of its own.
package grouping_test

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
	Operator: "podgrouper",
}

func TestMain(m *testing.M) { cluster.Main(m) }
