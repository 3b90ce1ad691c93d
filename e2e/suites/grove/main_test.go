// Package grove_test runs stories of PodCliqueSets in a cluster. It has a dev cluster of its own.
package grove_test

import (
	"path/filepath"
	"testing"
	"time"

	"packtree.dev/e2e/devcluster"
	"packtree.dev/e2e/suites/internal/suite"
)

const (
	// patience is how long the start in order may take, on a busy machine.
	patience = 4 * time.Minute
	// heartbeat is how long a node counts as alive without a renewed lease. Stories wait for it; on a busy machine
	// renewals come late.
	heartbeat = 30 * time.Second

	operator = suite.GroveOperator
)

var (
	components = []string{operator, "podgrouper", "kai-topology-plugin"}

	cluster = &suite.Cluster{
		Options: devcluster.Options{NodesFile: filepath.Join("testdata", "nodes.yaml"), Components: components,
			Heartbeat: heartbeat},
		Operator: operator,
	}
)

func TestMain(m *testing.M) { cluster.Main(m) }
